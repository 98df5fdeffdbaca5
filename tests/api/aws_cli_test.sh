#!/bin/bash
# aws_cli_test.sh - the AWS command line against a weir endpoint (WEIR_URL).
set -euo pipefail

AWS=/usr/bin/aws # Debian's
if [ ! -x "$AWS" ]; then
    echo "skipped: awscli is not installed"
    exit 77
fi
export AWS_PAGER="" AWS_MAX_ATTEMPTS=1
table="cli-$(od -An -N8 -tx1 /dev/urandom | tr -d ' \n')"

db() {
    "$AWS" dynamodb "$@" --endpoint-url "$WEIR_URL"
}

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# expect WHAT WANTED GOT
expect() {
    [ "$2" = "$3" ] || fail "$1: wanted '$2', got '$3'"
}

expect "create-table" CREATING "$(db create-table --table-name "$table" \
    --attribute-definitions AttributeName=p,AttributeType=S AttributeName=s,AttributeType=N \
    --key-schema AttributeName=p,KeyType=HASH AttributeName=s,KeyType=RANGE \
    --provisioned-throughput ReadCapacityUnits=100,WriteCapacityUnits=100 \
    --query TableDescription.TableStatus --output text)"
db wait table-exists --table-name "$table"

arn=$(db describe-table --table-name "$table" --query Table.TableArn --output text)
db tag-resource --resource-arn "$arn" --tags Key=team,Value=blue
expect "list-tags-of-resource" "team	blue" "$(db list-tags-of-resource --resource-arn "$arn" \
    --query 'Tags[].[Key,Value]' --output text)"

db put-item --table-name "$table" --item '{"p":{"S":"a"},"s":{"N":"1"},"v":{"S":"one"}}'
db put-item --table-name "$table" --item '{"p":{"S":"a"},"s":{"N":"2"},"v":{"S":"two"}}'
expect "get-item" one "$(db get-item --table-name "$table" --consistent-read \
    --key '{"p":{"S":"a"},"s":{"N":"1"}}' --query Item.v.S --output text)"

expect "query" "2	1" "$(db query --consistent-read --table-name "$table" --no-scan-index-forward \
    --key-condition-expression 'p = :p AND s BETWEEN :a AND :b' \
    --expression-attribute-values '{":p":{"S":"a"},":a":{"N":"0"},":b":{"N":"9"}}' \
    --query 'Items[].s.N' --output text)"

expect "scan" 2 "$(db scan --consistent-read --table-name "$table" --select COUNT --query Count --output text)"
expect "scan by pages" 2 "$(db scan --consistent-read --table-name "$table" --page-size 1 \
    --query 'length(Items)' --output json)"

expect "batch-write-item" 0 "$(db batch-write-item --request-items "{\"$table\":[
    {\"PutRequest\":{\"Item\":{\"p\":{\"S\":\"b\"},\"s\":{\"N\":\"3\"}}}},
    {\"DeleteRequest\":{\"Key\":{\"p\":{\"S\":\"a\"},\"s\":{\"N\":\"1\"}}}}]}" \
    --query 'length(UnprocessedItems)' --output text)"
expect "batch-get-item" 3 "$(db batch-get-item --request-items "{\"$table\":{\"ConsistentRead\":true,\"Keys\":[
    {\"p\":{\"S\":\"b\"},\"s\":{\"N\":\"3\"}},{\"p\":{\"S\":\"a\"},\"s\":{\"N\":\"1\"}}]}}" \
    --query "Responses.\"$table\"[].s.N" --output text)"

expect "delete-item" two "$(db delete-item --table-name "$table" --return-values ALL_OLD \
    --key '{"p":{"S":"a"},"s":{"N":"2"}}' --query Attributes.v.S --output text)"

db list-tables --query TableNames --output text | tr '\t' '\n' | grep -qx "$table" ||
    fail "list-tables does not know $table"

expect "update-table" UPDATING "$(db update-table --table-name "$table" \
    --billing-mode PAY_PER_REQUEST --query TableDescription.TableStatus --output text)"
db wait table-exists --table-name "$table"

if error=$(db get-item --table-name "$table" --key '{"p":{"S":"a"}}' 2>&1); then
    fail "a key without its sort key was taken"
fi
[[ "$error" == *"The provided key element does not match the schema"* ]] || fail "$error"

db delete-table --table-name "$table" > /dev/null
db wait table-not-exists --table-name "$table"
if error=$(db describe-table --table-name "$table" 2>&1); then
    fail "a deleted table is still there"
fi
[[ "$error" == *ResourceNotFoundException* ]] || fail "$error"
echo "aws-cli: all good"
