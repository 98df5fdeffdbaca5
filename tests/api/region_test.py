#!/usr/bin/python3
"""The region and account in ARNs and stream records: that of the client, or that of the server's options, which
WEIR_REGION and WEIR_ACCOUNT repeat."""

import os
import unittest

from suite import Suite, boto, keys_of, new_name, until

FIRST, SECOND = "eu-west-1", "ap-northeast-3"  # regions of two clients
ACCOUNT = os.environ.get("WEIR_ACCOUNT", "000000000000")


def shown(region):
    """The region that a client of `region` is told."""
    return os.environ.get("WEIR_REGION", region)


def arn_of(region, name):
    return "arn:aws:dynamodb:%s:%s:table/%s" % (shown(region), ACCOUNT, name)


class RegionTest(Suite):
    def described(self, region):
        return boto(region=region).describe_table(TableName=self.streamed)["Table"]

    def setUp(self):
        index = {"IndexName": "by-p", "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
                 "Projection": {"ProjectionType": "ALL"}}
        self.streamed = self.created({"TableName": new_name(), "BillingMode": "PAY_PER_REQUEST", **keys_of(("p", "S")),
                                      "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
                                      "GlobalSecondaryIndexes": [index]})["TableName"]

    def test_arns_have_the_region_of_the_client(self):
        for region in (FIRST, SECOND):
            table = self.described(region)
            arn = arn_of(region, self.streamed)
            self.assertEqual(table["TableArn"], arn)
            self.assertEqual(table["GlobalSecondaryIndexes"][0]["IndexArn"], arn + "/index/by-p")
            self.assertEqual(table["LatestStreamArn"], arn + "/stream/" + table["LatestStreamLabel"])
            listed = boto("dynamodbstreams", region).list_streams(TableName=self.streamed)["Streams"]
            self.assertEqual([stream["StreamArn"] for stream in listed], [table["LatestStreamArn"]])
            scaling = boto(region=region).describe_table_replica_auto_scaling(TableName=self.streamed)
            self.assertEqual(scaling["TableAutoScalingDescription"]["Replicas"][0]["RegionName"], shown(region))

    def read(self, client, iterator):
        """(records from the iterator on, the next iterator), of one request."""
        answer = client.get_records(ShardIterator=iterator)
        return answer["Records"], answer["NextShardIterator"]

    def test_a_stream_is_read_under_the_arn_and_iterator_of_another_region(self):
        streams = {region: boto("dynamodbstreams", region) for region in (FIRST, SECOND)}
        arn = self.described(FIRST)["LatestStreamArn"]
        boto(region=FIRST).put_item(TableName=self.streamed, Item={"p": {"S": "a"}})
        found = []
        for shard in streams[SECOND].describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]:
            iterator = streams[FIRST].get_shard_iterator(StreamArn=arn, ShardId=shard["ShardId"],
                                                         ShardIteratorType="TRIM_HORIZON")["ShardIterator"]
            for region in (SECOND, FIRST):
                records, _ = self.read(streams[region], iterator)
                found += [(record["awsRegion"], record["dynamodb"]["Keys"]) for record in records]
        self.assertEqual(found, [(shown(region), {"p": {"S": "a"}}) for region in (SECOND, FIRST)])

    def test_tags_go_by_the_arn_of_any_region_and_account(self):
        db = boto(region=SECOND)
        for number, arn in enumerate((arn_of(FIRST, self.streamed), arn_of(SECOND, self.streamed),
                                      "arn:aws:dynamodb:us-gov-west-1:999999999999:table/" + self.streamed)):
            tag = {"Key": "k", "Value": str(number)}
            db.tag_resource(ResourceArn=arn, Tags=[tag])
            until(self, lambda: db.list_tags_of_resource(ResourceArn=arn)["Tags"] == [tag], "the tag is there")


if __name__ == "__main__":
    unittest.main()
