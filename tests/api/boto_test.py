"""boto3 as programs use it, without its own checks: the client, the resource API, paginators and waiters. Every
operation that is served, with every parameter that Debian's boto3 knows (tests/api/coverage looks after that)."""

import decimal
import unittest

import boto3
import boto3.dynamodb.conditions
from botocore.exceptions import ClientError

from suite import URL, boto, keys_of, n, new_name, recorded, s, steady, until

Attr, Key = boto3.dynamodb.conditions.Attr, boto3.dynamodb.conditions.Key
DB = boto()
ALL = {"ReturnConsumedCapacity": "INDEXES"}


def eq(value):
    return {"ComparisonOperator": "EQ", "AttributeValueList": [value]}


class ClientTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.table = cls.make()
        cls.arn = DB.describe_table(TableName=cls.table)["Table"]["TableArn"]

    @classmethod
    def tearDownClass(cls):
        DB.delete_table(TableName=cls.table)
        DB.get_waiter("table_not_exists").wait(TableName=cls.table, WaiterConfig={"Delay": 1})

    @classmethod
    def make(cls, **more):
        name = new_name()
        DB.create_table(**{"TableName": name, "BillingMode": "PAY_PER_REQUEST", **keys_of(("p", "S"), ("s", "N")),
                           **more})
        DB.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1})
        return name

    def refused(self, code, call, message=None, **members):
        with self.assertRaises(ClientError) as caught:
            call(**members)
        self.assertEqual(caught.exception.response["Error"]["Code"], code, caught.exception)
        self.assertIsInstance(caught.exception, getattr(DB.exceptions, code, ClientError))
        if message is not None:
            self.assertEqual(caught.exception.response["Error"]["Message"], message)
        return caught.exception.response

    def key(self, p, number=1):
        return {"p": s(p), "s": n(number)}

    def test_put_get_update_delete(self):
        key = self.key("items")
        answer = DB.put_item(
            TableName=self.table, Item={**key, "v": n(1)}, ReturnValues="ALL_OLD", ReturnItemCollectionMetrics="SIZE",
            ConditionExpression="attribute_not_exists(#p) OR #p = :p", ExpressionAttributeNames={"#p": "p"},
            ExpressionAttributeValues={":p": s("items")}, **ALL)
        self.assertEqual(answer["ConsumedCapacity"]["Table"], {"CapacityUnits": 1})
        answer = DB.update_item(
            TableName=self.table, Key=key, UpdateExpression="ADD #v :one", ConditionExpression="#v = :one",
            ExpressionAttributeNames={"#v": "v"}, ExpressionAttributeValues={":one": n(1)}, ReturnValues="ALL_NEW",
            ReturnItemCollectionMetrics="SIZE", **ALL)
        self.assertEqual(answer["Attributes"], {**key, "v": n(2)})
        answer = DB.get_item(TableName=self.table, Key=key, ConsistentRead=True, ProjectionExpression="#v",
                             ExpressionAttributeNames={"#v": "v"}, **ALL)
        self.assertEqual(answer["Item"], {"v": n(2)})
        answer = DB.delete_item(
            TableName=self.table, Key=key, ConditionExpression="#v > :one", ExpressionAttributeNames={"#v": "v"},
            ExpressionAttributeValues={":one": n(1)}, ReturnValues="ALL_OLD", ReturnItemCollectionMetrics="SIZE", **ALL)
        self.assertEqual(answer["Attributes"], {**key, "v": n(2)})

    def test_conditions_that_fail_have_their_class(self):
        for call, members in ((DB.put_item, {"Item": self.key("none")}), (DB.delete_item, {"Key": self.key("none")}),
                              (DB.update_item, {"Key": self.key("none")})):
            self.refused("ConditionalCheckFailedException", call, "The conditional request failed",
                         TableName=self.table, ConditionExpression="attribute_exists(p)", **members)

    def test_parameters_of_before_expressions(self):
        key = self.key("old")
        two = {"v": {"Exists": False}, "w": {"ComparisonOperator": "NULL"}}
        DB.put_item(TableName=self.table, Item=key, Expected={"v": {"Exists": False}, "p": eq(s("?"))},
                    ConditionalOperator="OR")
        DB.delete_item(TableName=self.table, Key=key, Expected={"v": {"Exists": False}})
        self.refused("ConditionalCheckFailedException", DB.put_item, TableName=self.table, Item=key,
                     Expected={"v": {"Value": n(1)}})
        DB.update_item(TableName=self.table, Key=key, Expected=two)
        DB.put_item(TableName=self.table, Item={**key, "v": n(1), "w": n(2)}, Expected=two, ConditionalOperator="AND")
        values = {"v": {"Value": n(1)}, "w": eq(n(9))}
        DB.put_item(TableName=self.table, Item={**key, "v": n(1), "w": n(2)}, Expected={"v": {"Value": n(1)}})
        answer = DB.update_item(
            TableName=self.table, Key=key, AttributeUpdates={"v": {"Action": "ADD", "Value": n(4)}}, Expected=values,
            ConditionalOperator="OR", ReturnValues="UPDATED_NEW")
        self.assertEqual(answer["Attributes"], {"v": n(5)})
        self.assertEqual(DB.get_item(TableName=self.table, Key=key, AttributesToGet=["v"], ConsistentRead=True)["Item"],
                         {"v": n(5)})
        read = DB.query(TableName=self.table, KeyConditions={"p": eq(s("old"))}, AttributesToGet=["w"],
                        QueryFilter={"v": eq(n(5)), "w": eq(n(7))}, ConditionalOperator="OR", ConsistentRead=True)
        self.assertEqual((read["Items"], read["ScannedCount"]), ([{"w": n(2)}], 1))
        read = DB.scan(TableName=self.table, AttributesToGet=["w"], ScanFilter={"v": eq(n(5)), "w": eq(n(2))},
                       ConditionalOperator="AND", ConsistentRead=True)
        self.assertEqual(read["Items"], [{"w": n(2)}])
        got = DB.batch_get_item(RequestItems={self.table: {"Keys": [key], "AttributesToGet": ["v"],
                                                           "ConsistentRead": True}})
        self.assertEqual(got["Responses"][self.table], [{"v": n(5)}])
        DB.delete_item(TableName=self.table, Key=key, Expected={"v": {"Value": n(5)}, "w": eq(n(9))},
                       ConditionalOperator="OR")

    def test_pages_of_queries_and_scans(self):
        items = [{**self.key("pages", i), "odd": n(i % 2)} for i in range(40)]
        for at in (0, 20):
            answer = DB.batch_write_item(RequestItems={self.table: [{"PutRequest": {"Item": i}}
                                                                    for i in items[at:at + 20]]},
                                         ReturnItemCollectionMetrics="SIZE", **ALL)
            self.assertEqual(answer["UnprocessedItems"], {})
        query = {
            "TableName": self.table, "KeyConditionExpression": "#p = :p AND #s < :s", "FilterExpression": "odd = :odd",
            "ProjectionExpression": "#s", "ExpressionAttributeNames": {"#p": "p", "#s": "s"},
            "ExpressionAttributeValues": {":p": s("pages"), ":s": n(30), ":odd": n(1)}, "ConsistentRead": True,
            "ScanIndexForward": False, "Select": "SPECIFIC_ATTRIBUTES", **ALL}
        pages = list(DB.get_paginator("query").paginate(**query, PaginationConfig={"PageSize": 7}))
        self.assertEqual([i["s"] for p in pages for i in p["Items"]], [n(i) for i in range(29, 0, -2)])
        self.assertEqual([p["ScannedCount"] for p in pages], [7, 7, 7, 7, 2])
        whole = DB.get_paginator("query").paginate(**query).build_full_result()
        self.assertEqual((whole["Count"], whole["ScannedCount"]), (15, 30))
        scan = {"TableName": self.table, "FilterExpression": "#p = :p", "ExpressionAttributeNames": {"#p": "p"},
                "ExpressionAttributeValues": {":p": s("pages")}, "ConsistentRead": True, "TotalSegments": 3, **ALL}
        found = []
        for segment in range(3):
            for page in DB.get_paginator("scan").paginate(**scan, Segment=segment, PaginationConfig={"PageSize": 5}):
                found += page["Items"]
        self.assertEqual(sorted(found, key=lambda i: int(i["s"]["N"])), items)
        answer = DB.scan(TableName=self.table, Select="COUNT", Limit=3, ExclusiveStartKey=self.key("pages", 3))
        self.assertNotIn("Items", answer)
        answer = DB.scan(TableName=self.table, ProjectionExpression="p", Limit=1)
        self.assertLessEqual(answer["Count"], 1)
        for call, more in ((DB.query, {"KeyConditionExpression": "p = :p", "ExpressionAttributeValues": {":p": s("a")}}),
                           (DB.scan, {})):
            self.refused("ValidationException", call, "The table does not have the specified index: none",
                         TableName=self.table, IndexName="none", **more)

    def test_batches(self):
        keys = [self.key("batch", i) for i in range(5)]
        DB.batch_write_item(RequestItems={self.table: [{"PutRequest": {"Item": {**k, "v": n(1)}}} for k in keys]})
        got = DB.batch_get_item(RequestItems={self.table: {
            "Keys": keys, "ProjectionExpression": "#v", "ExpressionAttributeNames": {"#v": "v"},
            "ConsistentRead": True}}, **ALL)
        self.assertEqual(got["Responses"][self.table], [{"v": n(1)}] * 5)
        DB.batch_write_item(RequestItems={self.table: [{"DeleteRequest": {"Key": k}} for k in keys]})
        got = DB.batch_get_item(RequestItems={self.table: {"Keys": keys, "ConsistentRead": True}})
        self.assertEqual((got["Responses"][self.table], got["UnprocessedKeys"]), ([], {}))

    def test_tables_through_their_life(self):
        units = {"ReadCapacityUnits": 3, "WriteCapacityUnits": 3}
        name = self.make(BillingMode="PROVISIONED", ProvisionedThroughput=units, Tags=[{"Key": "a", "Value": "1"}],
                         StreamSpecification={"StreamEnabled": False}, SSESpecification={
                             "Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": "alias/mine"},
                         TableClass="STANDARD_INFREQUENT_ACCESS")
        table = DB.describe_table(TableName=name)["Table"]
        self.assertEqual(table["TableClassSummary"]["TableClass"], "STANDARD_INFREQUENT_ACCESS")
        self.assertEqual(table["SSEDescription"]["SSEType"], "KMS")
        wait = {"Delay": 1}
        for change in ({"ProvisionedThroughput": {**units, "ReadCapacityUnits": 4}}, {"TableClass": "STANDARD"},
                       {"BillingMode": "PAY_PER_REQUEST"}, {"SSESpecification": {"Enabled": False}},
                       {"SSESpecification": {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": "alias/other"}}):
            DB.update_table(TableName=name, **change)
            DB.get_waiter("table_exists").wait(TableName=name, WaiterConfig=wait)
        self.refused("ValidationException", DB.update_table, "ReplicaUpdates is not supported by weir yet",
                     TableName=name, ReplicaUpdates=[])
        listed = DB.get_paginator("list_tables").paginate(PaginationConfig={"PageSize": 1})
        self.assertIn(name, [t for page in listed for t in page["TableNames"]])
        self.assertNotIn(name, DB.list_tables(ExclusiveStartTableName=name, Limit=1)["TableNames"])
        DB.delete_table(TableName=name)
        DB.get_waiter("table_not_exists").wait(TableName=name, WaiterConfig=wait)
        self.refused("ResourceNotFoundException", DB.describe_table, TableName=name)
        self.refused("ResourceInUseException", DB.create_table, "Table already exists: " + self.table,
                     TableName=self.table, BillingMode="PAY_PER_REQUEST", **keys_of(("p", "S")))
        for indexes in ("LocalSecondaryIndexes", "GlobalSecondaryIndexes"):
            self.refused("ValidationException", DB.create_table, TableName=new_name(), BillingMode="PAY_PER_REQUEST",
                         **keys_of(("p", "S")), **{indexes: []})

    def test_global_indexes(self):
        units, keys = {"ReadCapacityUnits": 300, "WriteCapacityUnits": 300}, keys_of(("city", "S"), ("n", "N"))
        name = self.make(BillingMode="PROVISIONED", ProvisionedThroughput=units, AttributeDefinitions=keys_of(
            ("p", "S"), ("s", "N"), ("city", "S"), ("n", "N"))["AttributeDefinitions"], GlobalSecondaryIndexes=[
                {"IndexName": "by-city", "KeySchema": keys["KeySchema"], "ProvisionedThroughput": units,
                 "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x"]}}])
        change = {"IndexName": "by-city", "ProvisionedThroughput": {**units, "ReadCapacityUnits": 400}}
        DB.update_table(TableName=name, AttributeDefinitions=keys["AttributeDefinitions"],
                        GlobalSecondaryIndexUpdates=[{"Update": change}])
        index = DB.describe_table(TableName=name)["Table"]["GlobalSecondaryIndexes"][0]
        self.assertEqual(index["ProvisionedThroughput"]["ReadCapacityUnits"], 400)
        more = {"IndexName": "by-more", "KeySchema": keys["KeySchema"], "ProvisionedThroughput": units,
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x"]}}
        DB.update_table(TableName=name, AttributeDefinitions=keys["AttributeDefinitions"],
                        GlobalSecondaryIndexUpdates=[{"Create": more}])
        until(self, lambda: all(x["IndexStatus"] == "ACTIVE" for x in DB.describe_table(TableName=name)["Table"][
            "GlobalSecondaryIndexes"]), "the new index is filled")
        DB.update_table(TableName=name, GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "by-more"}}])
        until(self, lambda: DB.describe_table(TableName=name)["Table"]["TableStatus"] == "ACTIVE", "the table rests")
        insights = DB.describe_contributor_insights(TableName=name, IndexName="by-city")
        self.assertEqual(insights["ContributorInsightsStatus"], "DISABLED")
        items = [{**self.key("a", i), "city": s("rome"), "n": n(9 - i), "x": s("x"), "y": s("y")} for i in range(9)]
        for item in items:
            DB.put_item(TableName=name, Item=item)
        query = {"TableName": name, "IndexName": "by-city", "KeyConditionExpression": "city = :c AND n > :n",
                 "ExpressionAttributeValues": {":c": s("rome"), ":n": n(2)}}
        until(self, lambda: steady(lambda: DB.query(**query)["Count"] == 7), "the index has the rows")
        pages = DB.get_paginator("query").paginate(**query, PaginationConfig={"PageSize": 2})
        self.assertEqual([i for page in pages for i in page["Items"]],
                         [{k: v for k, v in i.items() if k != "y"} for i in items[6::-1]])
        table = boto3.resource("dynamodb", endpoint_url=URL, region_name="us-east-1", aws_access_key_id="weir",
                               aws_secret_access_key="weir").Table(name)
        found = table.query(IndexName="by-city", KeyConditionExpression=Key("city").eq("rome") & Key("n").eq(5))
        self.assertEqual([i["s"] for i in found["Items"]], [4])
        DB.delete_table(TableName=name)

    def test_tags(self):
        DB.tag_resource(ResourceArn=self.arn, Tags=[{"Key": "k", "Value": "v"}, {"Key": "l", "Value": ""}])
        DB.untag_resource(ResourceArn=self.arn, TagKeys=["l"])
        pages = DB.get_paginator("list_tags_of_resource").paginate(ResourceArn=self.arn)
        self.assertEqual(pages.build_full_result()["Tags"], [{"Key": "k", "Value": "v"}])
        self.refused("ValidationException", DB.list_tags_of_resource, ResourceArn=self.arn, NextToken="?")

    def test_what_is_off(self):
        name = {"TableName": self.table}
        self.assertGreater(DB.describe_limits()["TableMaxReadCapacityUnits"], 0)
        self.assertIn(DB.describe_endpoints()["Endpoints"][0]["Address"], URL)
        backups = DB.describe_continuous_backups(**name)["ContinuousBackupsDescription"]
        self.assertEqual(backups["ContinuousBackupsStatus"], "DISABLED")
        DB.update_continuous_backups(**name, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": False})
        self.assertEqual(DB.describe_contributor_insights(**name)["ContributorInsightsStatus"], "DISABLED")
        self.refused("ResourceNotFoundException", DB.describe_contributor_insights, **name, IndexName="none")
        DB.list_contributor_insights(**name, MaxResults=5)
        DB.list_contributor_insights(NextToken="x")
        self.assertEqual(DB.describe_kinesis_streaming_destination(**name)["KinesisDataStreamDestinations"], [])
        DB.describe_table_replica_auto_scaling(**name)
        self.assertEqual(DB.list_backups(**name, Limit=5, TimeRangeLowerBound=1, TimeRangeUpperBound=2,
                                         BackupType="ALL")["BackupSummaries"], [])
        DB.list_backups(ExclusiveStartBackupArn="arn:aws:dynamodb:us-east-1:000000000000:table/a/backup/0")
        self.assertEqual(DB.list_exports(TableArn=self.arn, MaxResults=5)["ExportSummaries"], [])
        DB.list_exports(NextToken="x")
        self.assertEqual(DB.list_imports(TableArn=self.arn, PageSize=5)["ImportSummaryList"], [])
        DB.list_imports(NextToken="x" * 112)
        self.assertEqual(DB.list_global_tables(Limit=5, RegionName="us-east-1")["GlobalTables"], [])
        DB.list_global_tables(ExclusiveStartGlobalTableName="abc")
        self.refused("GlobalTableNotFoundException", DB.describe_global_table, GlobalTableName="abc")
        self.refused("GlobalTableNotFoundException", DB.describe_global_table_settings, GlobalTableName="abc")


class ResourceTest(unittest.TestCase):
    """boto3.resource: Python values in place of attribute values, conditions built by Key and Attr."""

    @classmethod
    def setUpClass(cls):
        cls.resource = boto3.resource("dynamodb", endpoint_url=URL, region_name="us-east-1",
                                      aws_access_key_id="weir", aws_secret_access_key="weir")
        recorded(cls.resource.meta.client)
        cls.table = cls.resource.create_table(TableName=new_name(), BillingMode="PAY_PER_REQUEST",
                                              **keys_of(("p", "S"), ("s", "N")))
        cls.table.wait_until_exists()

    @classmethod
    def tearDownClass(cls):
        cls.table.delete()
        cls.table.wait_until_not_exists()

    def test_values_of_every_type_come_back(self):
        item = {"p": "types", "s": decimal.Decimal("1.5"), "text": "\u00fc", "none": None, "yes": True, "set": {"a", "b"},
                "numbers": {decimal.Decimal(1), decimal.Decimal("-2.5")}, "bytes": b"\0\xff", "list": ["a", {"b": []}],
                "map": {"deep": {"x": decimal.Decimal("-0.001")}}, "empty": ""}
        self.table.put_item(Item=item)
        got = self.table.get_item(Key={"p": "types", "s": decimal.Decimal("1.5")}, ConsistentRead=True)["Item"]
        got["bytes"] = bytes(got["bytes"])
        self.assertEqual(got, item)

    def test_built_conditions(self):
        with self.table.batch_writer(overwrite_by_pkeys=["p", "s"]) as batch:
            for i in range(60):
                batch.put_item(Item={"p": "built", "s": i, "name": "n%02d" % i, "tags": {"even"} if i % 2 == 0 else {"odd"},
                                     "m": {"x": i}})
            batch.put_item(Item={"p": "built", "s": 0, "name": "n00", "tags": {"even"}, "m": {"x": 0}})
        def numbers(key, **more):
            answer = self.table.query(KeyConditionExpression=Key("p").eq("built") & key, ConsistentRead=True, **more)
            return [int(i["s"]) for i in answer["Items"]]
        self.assertEqual(numbers(Key("s").between(5, 8)), [5, 6, 7, 8])
        self.assertEqual(numbers(Key("s").lt(2)), [0, 1])
        self.assertEqual(numbers(Key("s").gte(58), ScanIndexForward=False), [59, 58])
        for condition, wanted in (
            (Attr("tags").contains("even") & Attr("s").lt(6), [0, 2, 4]), (Attr("name").begins_with("n0"), range(10)),
            (Attr("m.x").is_in([3, 5]) | Attr("m.x").eq(7), [3, 5, 7]), (~Attr("m.x").gt(1), [0, 1]),
            (Attr("name").size().lt(3), []), (Attr("gone").not_exists() & Attr("m.x").lte(1), [0, 1]),
            (Attr("m").attribute_type("M") & Attr("m.x").between(1, 2), [1, 2]), (Attr("m.x").ne(1) & Attr("s").lt(3), [0, 2]),
        ):
            answer = self.table.scan(FilterExpression=Attr("p").eq("built") & condition, ConsistentRead=True)
            self.assertEqual(sorted(int(i["s"]) for i in answer["Items"]), list(wanted))
        with self.table.batch_writer() as batch:
            for i in range(60):
                batch.delete_item(Key={"p": "built", "s": i})
        self.assertEqual(numbers(Key("s").gte(0), Select="ALL_ATTRIBUTES"), [])

    def test_updates_with_conditions(self):
        key = {"p": "update", "s": 1}
        answer = self.table.update_item(Key=key, UpdateExpression="SET a = :a, l = list_append(if_not_exists(l, :e), :l)",
                                        ConditionExpression=Attr("a").not_exists(), ReturnValues="ALL_NEW",
                                        ExpressionAttributeValues={":a": 1, ":e": [], ":l": ["x"]})
        self.assertEqual(answer["Attributes"], {**key, "a": 1, "l": ["x"]})
        with self.assertRaises(self.resource.meta.client.exceptions.ConditionalCheckFailedException):
            self.table.put_item(Item=key, ConditionExpression=Attr("a").gt(1))
        self.table.delete_item(Key=key, ConditionExpression=Attr("a").eq(1))
        self.assertNotIn("Item", self.table.get_item(Key=key, ConsistentRead=True))

    def test_tables_and_batches(self):
        self.table.reload()
        self.assertEqual(self.table.table_status, "ACTIVE")
        self.assertIn(self.table.name, [t.name for t in self.resource.tables.all()])
        self.table.put_item(Item={"p": "both", "s": 1})
        got = self.resource.batch_get_item(RequestItems={self.table.name: {"Keys": [{"p": "both", "s": 1}],
                                                                           "ConsistentRead": True}})
        self.assertEqual(got["Responses"][self.table.name], [{"p": "both", "s": 1}])
        self.resource.batch_write_item(RequestItems={self.table.name: [
            {"DeleteRequest": {"Key": {"p": "both", "s": 1}}}]})


if __name__ == "__main__":
    unittest.main()
