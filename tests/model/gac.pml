/* gac.pml - the protocol of global admission control, for spin: no token is spent twice.
 *
 * One router (-DROUTERS=2: two, that compete for one ledger), two servers, one key. Frames are lost
 * and doubled, and answers to old asks arrive late; servers crash and come back with nothing, and so
 * do routers; these let tokens expire, change the server, give back. A token comes in at one server at a time (ledger.h, LEDGER-4). What is left out: how
 * much is granted (any amount), time (anything may expire at any moment), demand.
 *
 * Checked in every state: what was spent, is in banks and is in the hands of living routers was
 * minted (`SAFE`). tests/model/run compiles and runs it; with -DMISTAKE=n it has to fail:
 *   1 an old ask is taken over          2 a router takes the answer to any of its asks
 *   3 what an unresponsive router held goes back to the bank   4 a new epoch keeps what was held before */

#ifndef MINTED_MAX
#define MINTED_MAX 2
#endif
#ifndef REQUESTS_MAX
#define REQUESTS_MAX 2 /* of a router in an epoch */
#endif
#ifndef EPOCHS_MAX
#define EPOCHS_MAX 2
#endif
#ifndef CRASHES_MAX
#define CRASHES_MAX 1 /* of each server */
#endif
#ifndef ROUTER_CRASHES_MAX
#define ROUTER_CRASHES_MAX 1 /* of each router */
#endif
#ifndef MISTAKE
#define MISTAKE 0
#endif
#ifndef ROUTERS
#define ROUTERS 1
#endif
#ifndef DEBT
#define DEBT 0 /* what the costliest request costs; 0: none costs more than there is */
#endif
#define SERVERS 2

/* ---- servers: ledgers ---- */
typedef ledger {
    short bank; /* below zero: spent, but not had */
    bool known[ROUTERS];
    byte epoch[ROUTERS];
    byte number[ROUTERS];
    byte spent[ROUTERS];
    byte held[ROUTERS];
    byte granted[ROUTERS] /* the answer to the last ask */
};
ledger servers[SERVERS];

/* ---- routers: leases ---- */
typedef lease {
    byte tokens;
    byte spent; /* in this epoch */
    byte epoch;
    byte number;
    bool awaiting;
    byte owner
};
lease routers[ROUTERS];

byte minted, spent_ever;
byte forgiven; /* what banks owed when their servers crashed */

/* A frame in flight is kept until it is lost; it may arrive any number of times. */
typedef ask_frame { bool there; byte to, epoch, number, spent, held };
typedef answer_frame { bool there; byte from, epoch, number, granted };
ask_frame asks[ROUTERS];       /* the last ask of each, and */
ask_frame late_asks[ROUTERS];  /* an older one */
answer_frame answers[ROUTERS];
answer_frame late_answers[ROUTERS];

#if ROUTERS == 2
#define IN_HANDS (routers[0].tokens + routers[1].tokens)
#else
#define IN_HANDS routers[0].tokens
#endif
#define SAFE (spent_ever + servers[0].bank + servers[1].bank + IN_HANDS <= minted + forgiven)

inline begin_epoch(s, r, f)
{
    servers[s].held[r] = f.held + (MISTAKE == 4 -> servers[s].held[r] : 0);
    servers[s].epoch[r] = f.epoch;
    servers[s].number[r] = 0;
    servers[s].spent[r] = f.spent
}

/* Once the bank owes nothing, what the costliest request needs, if that is more than the bank has:
 * the bank owes the rest. */
inline grant_some(s, r)
{
    servers[s].granted[r] = 0;
    if
    :: DEBT > 0 && servers[s].bank > 0 && servers[s].held[r] < DEBT ->
        servers[s].bank = servers[s].bank - (DEBT - servers[s].held[r]);
        servers[s].granted[r] = DEBT - servers[s].held[r];
        servers[s].held[r] = DEBT
    :: skip
    fi;
    do
    :: servers[s].bank > 0 ->
        servers[s].bank--;
        servers[s].held[r]++;
        servers[s].granted[r]++
    :: break
    od
}

inline answer_to(r, f)
{
    if
    :: late_answers[r].there = answers[r].there;
       late_answers[r].from = answers[r].from;
       late_answers[r].epoch = answers[r].epoch;
       late_answers[r].number = answers[r].number;
       late_answers[r].granted = answers[r].granted
    :: skip
    fi;
    answers[r].there = true;
    answers[r].from = f.to;
    answers[r].epoch = f.epoch;
    answers[r].number = f.number;
    answers[r].granted = servers[f.to].granted[r]
}

/* ledger_take and a policy */
inline receive_ask(r, f)
{
    if
    :: !servers[f.to].known[r] || f.epoch > servers[f.to].epoch[r] ->
        servers[f.to].known[r] = true;
        begin_epoch(f.to, r, f)
    :: else -> skip
    fi;
    if
    :: f.epoch == servers[f.to].epoch[r] &&
       (f.number > servers[f.to].number[r] || MISTAKE == 1) ->
        /* unspent - held goes back */
        servers[f.to].bank = servers[f.to].bank + servers[f.to].held[r] -
                                 (f.spent - servers[f.to].spent[r]) - f.held;
        servers[f.to].held[r] = f.held;
        servers[f.to].spent[r] = f.spent;
        servers[f.to].number[r] = f.number;
        grant_some(f.to, r);
        answer_to(r, f)
    :: f.epoch == servers[f.to].epoch[r] && f.number == servers[f.to].number[r] &&
       MISTAKE != 1 ->
        answer_to(r, f)
    :: else -> skip
    fi
}

inline receive_answer(r, f)
{
    if
    :: MISTAKE == 2 && f.epoch == routers[r].epoch ->
        routers[r].tokens = routers[r].tokens + f.granted
    :: MISTAKE != 2 && routers[r].awaiting && f.epoch == routers[r].epoch &&
       f.number == routers[r].number ->
        routers[r].awaiting = false;
        routers[r].tokens = routers[r].tokens + f.granted
    :: else -> skip
    fi
}

inline send_ask(r)
{
    if
    :: late_asks[r].there = asks[r].there;
       late_asks[r].to = asks[r].to;
       late_asks[r].epoch = asks[r].epoch;
       late_asks[r].number = asks[r].number;
       late_asks[r].spent = asks[r].spent;
       late_asks[r].held = asks[r].held
    :: skip
    fi;
    routers[r].number++;
    routers[r].awaiting = true;
    asks[r].there = true;
    asks[r].to = routers[r].owner;
    asks[r].epoch = routers[r].epoch;
    asks[r].number = routers[r].number;
    asks[r].spent = routers[r].spent;
    asks[r].held = routers[r].tokens
}

/* Its links end with it, and what was on them: servers hear of that, before its next life. */
inline drop_router(r, s)
{
    servers[s].known[r] = false;
    servers[s].epoch[r] = 0;
    servers[s].number[r] = 0;
    servers[s].spent[r] = 0;
    servers[s].held[r] = 0;
    servers[s].granted[r] = 0
}

proctype router(byte r)
{
    byte crashes;
    do
    :: atomic { crashes < ROUTER_CRASHES_MAX -> crashes++;
        routers[r].tokens = 0;
        routers[r].spent = 0;
        routers[r].epoch = 1;
        routers[r].number = 0;
        routers[r].awaiting = false;
        routers[r].owner = 0;
        asks[r].there = false;
        late_asks[r].there = false;
        answers[r].there = false;
        late_answers[r].there = false;
        drop_router(r, 0);
        drop_router(r, 1) }
    :: atomic { routers[r].number < REQUESTS_MAX -> send_ask(r) }
    :: atomic { routers[r].tokens > 0 ->
        routers[r].tokens--; routers[r].spent++; spent_ever++ }
    :: atomic { routers[r].tokens > 0 -> routers[r].tokens = 0 } /* expired, or given back */
    :: atomic { answers[r].there -> receive_answer(r, answers[r]) }
    :: atomic { late_answers[r].there -> receive_answer(r, late_answers[r]) }
    /* another server, or another life of it: with what is held */
    :: atomic { routers[r].epoch < EPOCHS_MAX ->
        routers[r].epoch++;
        routers[r].number = 0;
        routers[r].spent = 0;
        routers[r].awaiting = false;
        routers[r].owner = 1 - routers[r].owner }
    od
}

proctype server(byte s)
{
    byte r, crashes;
    do
    :: atomic { minted < MINTED_MAX -> minted++; servers[s].bank++ }
    :: atomic { asks[0].there && asks[0].to == s -> receive_ask(0, asks[0]) }
    :: atomic { late_asks[0].there && late_asks[0].to == s -> receive_ask(0, late_asks[0]) }
#if ROUTERS == 2
    :: atomic { asks[1].there && asks[1].to == s -> receive_ask(1, asks[1]) }
    :: atomic { late_asks[1].there && late_asks[1].to == s -> receive_ask(1, late_asks[1]) }
#endif
    :: atomic { MISTAKE == 3 && servers[s].held[0] > 0 ->
        servers[s].bank = servers[s].bank + servers[s].held[0]; servers[s].held[0] = 0 }
    /* a crash: links end with it, and what was on them; it comes back with nothing */
    :: atomic { crashes < CRASHES_MAX -> crashes++;
        if
        :: servers[s].bank < 0 && DEBT > 0 -> forgiven = forgiven - servers[s].bank
        :: else -> skip
        fi;
        servers[s].bank = 0;
        r = 0;
        do
        :: r < ROUTERS ->
            servers[s].known[r] = false; servers[s].epoch[r] = 0; servers[s].number[r] = 0;
            servers[s].spent[r] = 0; servers[s].held[r] = 0; servers[s].granted[r] = 0;
            asks[r].there = asks[r].there && asks[r].to != s;
            late_asks[r].there = late_asks[r].there && late_asks[r].to != s;
            answers[r].there = answers[r].there && answers[r].from != s;
            late_answers[r].there = late_answers[r].there && late_answers[r].from != s;
            r++
        :: else -> break
        od;
        r = 0 }
    od
}

init
{
    atomic {
        routers[0].epoch = 1;
        run router(0);
#if ROUTERS == 2
        routers[1].epoch = 1;
        run router(1);
#endif
        run server(0);
        run server(1)
    }
}

active proctype monitor()
{
    atomic { !(SAFE) -> assert(false) }
}
