"""Tables that are created and deleted: what boto3 sees right after the answer (WEIR_URL)."""

import unittest

from api_test import DB, new_name


class ChangeTest(unittest.TestCase):
    """No waiter sleeps: whoever asks after the answer finds the table ready, or gone."""

    def test_a_table_is_ready_or_gone_as_soon_as_that_is_answered(self):
        for _ in range(40):
            name = new_name()
            DB.create_table(
                TableName=name,
                AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
                KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
                BillingMode="PAY_PER_REQUEST",
            )
            self.assertEqual(DB.describe_table(TableName=name)["Table"]["TableStatus"], "ACTIVE")
            DB.delete_table(TableName=name)
            with self.assertRaises(DB.exceptions.ResourceNotFoundException):
                DB.describe_table(TableName=name)

    def test_waiters_do_not_sleep(self):
        table = new_name()
        DB.create_table(
            TableName=table,
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            ProvisionedThroughput={"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
        )
        once = {"MaxAttempts": 1}  # a waiter that would have to sleep fails
        DB.get_waiter("table_exists").wait(TableName=table, WaiterConfig=once)
        DB.delete_table(TableName=table)
        DB.get_waiter("table_not_exists").wait(TableName=table, WaiterConfig=once)

    def test_labels_are_kept_and_told(self):
        table = new_name()
        DB.create_table(
            TableName=table,
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
            Tags=[{"Key": "team", "Value": "blue"}],
            TableClass="STANDARD_INFREQUENT_ACCESS",
            SSESpecification={"Enabled": True, "SSEType": "KMS"},
        )
        told = DB.describe_table(TableName=table)["Table"]
        self.assertEqual(told["TableClassSummary"]["TableClass"], "STANDARD_INFREQUENT_ACCESS")
        self.assertEqual(told["SSEDescription"]["Status"], "ENABLED")
        arn = told["TableArn"]
        DB.tag_resource(ResourceArn=arn, Tags=[{"Key": "cost", "Value": "12"}])
        DB.untag_resource(ResourceArn=arn, TagKeys=["team"])
        self.assertEqual(DB.list_tags_of_resource(ResourceArn=arn)["Tags"],
                         [{"Key": "cost", "Value": "12"}])
        DB.update_table(TableName=table, TableClass="STANDARD")
        DB.update_table(TableName=table, SSESpecification={"Enabled": False})
        told = DB.describe_table(TableName=table)["Table"]
        self.assertEqual(told["TableClassSummary"]["TableClass"], "STANDARD")
        self.assertNotIn("SSEDescription", told)
        self.assertEqual(told["TableStatus"], "ACTIVE")


if __name__ == "__main__":
    unittest.main()
