"""Operations on tables: descriptions, protection, decreases, counts, states, features that are off."""

import concurrent.futures
import unittest
import uuid

from suite import INVALID, Suite, boto, keys_of, new_name, s, send, until


class DescriptionTest(Suite):
    def test_a_description_has_every_member_of_the_service(self):
        table = self.ok("DescribeTable")["Table"]
        self.assertEqual(set(table), {
            "AttributeDefinitions", "KeySchema", "TableName", "TableStatus", "CreationDateTime",
            "ProvisionedThroughput", "BillingModeSummary", "WarmThroughput", "TableSizeBytes",
            "ItemCount", "TableArn", "TableId", "DeletionProtectionEnabled"})
        self.assertEqual(str(uuid.UUID(table["TableId"])), table["TableId"])
        self.assertEqual(table["BillingModeSummary"]["BillingMode"], "PAY_PER_REQUEST")
        self.assertEqual(table["ProvisionedThroughput"], {
            "NumberOfDecreasesToday": 0, "ReadCapacityUnits": 0, "WriteCapacityUnits": 0})

    def test_items_and_bytes_are_counted_within_seconds(self):
        name = self.make()
        for i in range(20):
            self.ok("PutItem", TableName=name, Item={"p": s("%03d" % i), "v": s("x" * 95)})
        def counted(items, size):
            table = self.ok("DescribeTable", TableName=name)["Table"]
            return (table["ItemCount"], table["TableSizeBytes"]) == (items, size)
        until(self, lambda: counted(20, 20 * 100), "20 items of 100 bytes")
        for i in range(5):
            self.ok("DeleteItem", TableName=name, Key={"p": s("%03d" % i)})
        until(self, lambda: counted(15, 15 * 100), "15 items")

    def make(self, **more):
        name = new_name()
        self.ok("CreateTable", TableName=name, **{"BillingMode": "PAY_PER_REQUEST",
                                                  **keys_of(("p", "S")), **more})
        until(self, lambda: self.status(name) == "ACTIVE", "ACTIVE")
        return name

    def status(self, name):
        status, answer = send("DescribeTable", {"TableName": name})
        return answer["Table"]["TableStatus"] if status == 200 else None

    def change(self, name, **members):
        answer = self.ok("UpdateTable", TableName=name, **members)["TableDescription"]
        until(self, lambda: self.status(name) == "ACTIVE", "ACTIVE")
        return answer

    def test_a_table_keeps_its_id_and_a_new_one_has_another(self):
        name = self.make()
        first = self.ok("DescribeTable", TableName=name)["Table"]["TableId"]
        self.change(name, TableClass="STANDARD_INFREQUENT_ACCESS")
        table = self.ok("DescribeTable", TableName=name)["Table"]
        self.assertEqual(table["TableId"], first)
        self.assertEqual(table["TableClassSummary"], {"TableClass": "STANDARD_INFREQUENT_ACCESS"})
        self.ok("DeleteTable", TableName=name)
        until(self, lambda: self.status(name) is None, "gone")
        self.ok("CreateTable", TableName=name, BillingMode="PAY_PER_REQUEST", **keys_of(("p", "S")))
        self.assertNotEqual(self.ok("DescribeTable", TableName=name)["Table"]["TableId"], first)

    def test_a_protected_table_is_not_deleted(self):
        name = self.make(DeletionProtectionEnabled=True)
        self.assertTrue(self.ok("DescribeTable", TableName=name)["Table"]["DeletionProtectionEnabled"])
        self.bad("DeleteTable", "Resource cannot be deleted as it is currently protected against "
                 "deletion. Disable deletion protection first.", TableName=name)
        self.change(name, DeletionProtectionEnabled=False)
        self.assertEqual(self.ok("DeleteTable", TableName=name)["TableDescription"]["TableStatus"],
                         "DELETING")
        self.bad("UpdateTable", INVALID + "DeletionProtection modification must be the only operation "
                 "in the request", DeletionProtectionEnabled=True, BillingMode="PAY_PER_REQUEST")

    def test_throughput_is_lowered_four_times_a_day(self):
        def units(r, w):
            return {"ProvisionedThroughput": {"ReadCapacityUnits": r, "WriteCapacityUnits": w}}
        name = self.make(BillingMode="PROVISIONED", **units(10, 10))
        answer = self.change(name, **units(9, 11))
        self.assertEqual(answer["ProvisionedThroughput"]["ReadCapacityUnits"], 10)  # yet
        for r in (8, 7, 6):
            self.change(name, **units(r, 11))
        throughput = self.ok("DescribeTable", TableName=name)["Table"]["ProvisionedThroughput"]
        self.assertEqual(throughput["NumberOfDecreasesToday"], 4)
        self.assertGreater(throughput["LastDecreaseDateTime"], throughput["LastIncreaseDateTime"])
        answer = self.bad("UpdateTable", None, "LimitExceededException", TableName=name, **units(5, 12))
        self.assertRegex(answer["message"], r"^Subscriber limit exceeded: Provisioned throughput decreases "
                         r"are limited within a given UTC day\. After the first 4 decreases, each subsequent "
                         r"decrease in the same UTC day can be performed at most once every 3600 seconds\. "
                         r"Number of decreases today: 4\. Last decrease at \w+day, \w+ \d+, \d{4} at \d+:\d\d:\d\d "
                         r"[AP]M Coordinated Universal Time\. Next decrease can be made at \w+day, ")
        self.change(name, **units(6, 12))
        self.bad("UpdateTable", "The provisioned throughput for the table will not change. The requested "
                 "value equals the current value. Current ReadCapacityUnits provisioned for the table: 6. "
                 "Requested ReadCapacityUnits: 6. Current WriteCapacityUnits provisioned for the table: 12. "
                 "Requested WriteCapacityUnits: 12. Refer to the Amazon DynamoDB Developer Guide for current "
                 "limits and how to request higher limits.", TableName=name, **units(6, 12))

    def test_billing_modes_are_told_as_the_service_does(self):
        units = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}
        name = self.make(BillingMode="PROVISIONED", ProvisionedThroughput=units)
        self.assertNotIn("BillingModeSummary", self.ok("DescribeTable", TableName=name)["Table"])
        self.change(name, BillingMode="PAY_PER_REQUEST")
        summary = self.ok("DescribeTable", TableName=name)["Table"]["BillingModeSummary"]
        self.change(name, BillingMode="PROVISIONED", ProvisionedThroughput=units)
        self.assertEqual(self.ok("DescribeTable", TableName=name)["Table"]["BillingModeSummary"],
                         {**summary, "BillingMode": "PROVISIONED"})

    def test_limits_and_warmth_of_tables_on_demand(self):
        most = {"MaxReadRequestUnits": 70, "MaxWriteRequestUnits": 80}
        warm = {"ReadUnitsPerSecond": 13000, "WriteUnitsPerSecond": 5000}
        self.make(OnDemandThroughput={})
        name = self.make(OnDemandThroughput=most, WarmThroughput=warm)
        table = self.ok("DescribeTable", TableName=name)["Table"]
        self.assertEqual(table["OnDemandThroughput"], most)
        self.assertEqual(table["WarmThroughput"], {**warm, "Status": "ACTIVE"})
        most["MaxReadRequestUnits"], warm["ReadUnitsPerSecond"] = 75, 14000
        self.change(name, OnDemandThroughput=most)
        self.change(name, WarmThroughput=warm)
        def has_both():
            table = self.ok("DescribeTable", TableName=name)["Table"]
            return table["OnDemandThroughput"] == most and table["WarmThroughput"] == {**warm, "Status": "ACTIVE"}
        until(self, has_both, "the new limits")

    def test_changes_that_make_no_sense_are_refused(self):
        for message, members in (
            ("At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, "
             "GlobalSecondaryIndexUpdates, SSESpecification, ReplicaUpdates, MultiAccountReplicaReady, "
             "ReplicaTransitRoleArn, MultiRegionConsistency, DeletionProtectionEnabled, OnDemandThroughput, "
             "WarmThroughput or TableClass is required", {}),
            ("Table has no stream to disable: TableName: " + self.table,
             {"StreamSpecification": {"StreamEnabled": False}}),
            (INVALID + "If stream is being enabled then UpdateViewType is required",
             {"StreamSpecification": {"StreamEnabled": True}}),
            (INVALID + "Table is already encrypted by default", {"SSESpecification": {"Enabled": False}}),
            (INVALID + "SSEType can not be specified if Enabled is false",
             {"SSESpecification": {"Enabled": False, "SSEType": "KMS"}}),
            (INVALID + "ProvisionedThroughput must be specified when BillingMode is PROVISIONED",
             {"BillingMode": "PROVISIONED"}),
            ("Invalid table-class parameter provided. Please try again with a valid table-class value: "
             "[STANDARD, STANDARD_INFREQUENT_ACCESS].", {"TableClass": "GLACIER"}),
            ("1 validation error detected: Value 'ON_DEMAND' at 'billingMode' failed to satisfy constraint: "
             "Member must satisfy enum value set: [PROVISIONED, PAY_PER_REQUEST]",
             {"BillingMode": "ON_DEMAND"}),
        ):
            self.bad("UpdateTable", message, **members)

    def test_a_table_in_use_is_deleted_and_no_request_hangs(self):
        """Each request is done or gets ResourceNotFoundException. Of a write that was on its way nobody may
        know (InternalServerError): the next one of that client is told."""
        client = boto(max_pool_connections=16)
        name = self.make()
        def work(i):
            answers = []
            while True:
                try:
                    client.put_item(TableName=name, Item={"p": s(str(i))})
                    answers.append("done")
                except client.exceptions.ResourceNotFoundException:
                    return answers
                except client.exceptions.InternalServerError:
                    answers.append("unknown")
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            futures = [pool.submit(work, i) for i in range(16)]
            self.ok("DeleteTable", TableName=name)
            answers = [future.result(timeout=60) for future in futures]
        self.assertLessEqual(max(a.count("unknown") for a in answers), 1, answers)
        self.assertIsNone(self.status(name))

    def test_tables_that_are_not_there(self):
        gone = new_name()
        text = "Requested resource not found: Table: %s not found" % gone
        for operation in ("DescribeTable", "DeleteTable", "DescribeTimeToLive", "DescribeContributorInsights",
                          "DescribeKinesisStreamingDestination", "ListContributorInsights"):
            self.bad(operation, text, "ResourceNotFoundException", TableName=gone)
        self.bad("UpdateTable", text, "ResourceNotFoundException", TableName=gone, TableClass="STANDARD")
        self.bad("DescribeContinuousBackups", "Table not found: " + gone, "TableNotFoundException",
                 TableName=gone)
        for operation, members in (("GetItem", {"Key": {"p": s("1")}}), ("PutItem", {"Item": {"p": s("1")}}),
                                   ("DeleteItem", {"Key": {"p": s("1")}}), ("Scan", {})):
            self.bad(operation, "Requested resource not found", "ResourceNotFoundException",
                     TableName=gone, **members)


class FeatureTest(Suite):
    """Features that weir does not have are told as off."""

    def test_features_are_off(self):
        off = {"ContinuousBackupsDescription": {
            "ContinuousBackupsStatus": "DISABLED",
            "PointInTimeRecoveryDescription": {"PointInTimeRecoveryStatus": "DISABLED"}}}
        for operation, wanted in (
            ("DescribeContinuousBackups", off),
            ("DescribeContributorInsights", {"TableName": self.table, "ContributorInsightsStatus": "DISABLED"}),
            ("ListContributorInsights", {"ContributorInsightsSummaries": []}),
            ("DescribeKinesisStreamingDestination",
             {"TableName": self.table, "KinesisDataStreamDestinations": []}),
            ("ListBackups", {"BackupSummaries": []}), ("ListExports", {"ExportSummaries": []}),
            ("ListImports", {"ImportSummaryList": []}), ("ListGlobalTables", {"GlobalTables": []}),
        ):
            self.assertEqual(self.ok(operation), wanted, operation)
        arn = self.ok("DescribeTable")["Table"]["TableArn"]
        self.bad("GetResourcePolicy", "Resource-based policy not found for the provided ResourceArn: " + arn,
                 "PolicyNotFoundException", ResourceArn=arn)
        self.bad("DescribeGlobalTable", "Global table with name: 'abc' does not exist.",
                 "GlobalTableNotFoundException", GlobalTableName="abc")

    def test_features_are_not_switched_on(self):
        self.bad("UpdateContinuousBackups", "PointInTimeRecoverySpecification is not supported by weir yet",
                 PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True})

    def test_tags(self):
        arn = self.ok("DescribeTable")["Table"]["TableArn"]
        self.ok("TagResource", ResourceArn=arn, Tags=[{"Key": "a", "Value": "1"}, {"Key": "b", "Value": ""}])
        self.ok("UntagResource", ResourceArn=arn, TagKeys=["b", "none"])
        self.assertEqual(self.ok("ListTagsOfResource", ResourceArn=arn), {"Tags": [{"Key": "a", "Value": "1"}]})
        for message, tags in (
            ("Atleast one Tag needs to be provided as Input.", []),
            ("Duplicate Tag Keys provided as input: Duplicate Tag Key found a",
             [{"Key": "a", "Value": "1"}, {"Key": "a", "Value": "2"}]),
            ("Tag Key cannot be prefixed with aws:, Key: aws:x", [{"Key": "aws:x", "Value": "1"}]),
            ("The Tag Key provided is invalid, Key: a!", [{"Key": "a!", "Value": "1"}]),
            ("Number of Tags exceed the current limit for the provided ResourceArn",
             [{"Key": str(i), "Value": "1"} for i in range(50)]),
        ):
            self.bad("TagResource", message, ResourceArn=arn, Tags=tags)


if __name__ == "__main__":
    unittest.main()
