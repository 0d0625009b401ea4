"""Reads the table as its users do. Arguments: the reader, the origin, a token, a filter. Prints JSON.

Once the table is loaded it says so, and it reads when a line comes: so a test can change the table in between.
"""

import json
import sys

reader, origin, token, row_filter = sys.argv[1:5]
columns = ("tenant", "store", "event_id", "occurred_at", "confidence", "bytes", "enrichment")


def wait():
    print("loaded", flush=True)
    sys.stdin.readline()


def with_pyiceberg():
    from pyiceberg.catalog import load_catalog

    catalog = load_catalog("svcctl", uri=f"{origin}/iceberg", token=token)
    assert catalog.list_namespaces() == [("svcctl",)]
    assert catalog.list_tables("svcctl") == [("svcctl", "records")]
    assert not catalog.table_exists("svcctl.other")
    table = catalog.load_table("svcctl.records")
    scan = table.scan(row_filter=row_filter or "true", selected_fields=columns)
    wait()
    files = [task.file.file_path for task in scan.plan_files()]
    snapshots = [snapshot.model_dump(by_alias=True, mode="json") for snapshot in table.metadata.snapshots]
    return scan.to_arrow().to_pylist(), {"files": files, "snapshots": snapshots}


def with_duckdb():
    import os

    import duckdb
    import duckdb_ext

    folder = os.path.join(list(duckdb_ext.__path__)[0], "extensions")
    database = duckdb.connect(config={"extension_directory": folder})
    for extension in ("avro", "httpfs", "iceberg"):
        database.execute(f"load {extension}")
    database.execute("set timezone = 'UTC'")
    where = f"where {row_filter}" if row_filter else ""
    named = ", ".join(columns)
    if reader == "iceberg_scan":
        from urllib.request import Request, urlopen

        path = "/iceberg/v1/namespaces/svcctl/tables/records"
        asked = Request(origin + path, headers={"authorization": f"Bearer {token}"})
        location = json.load(urlopen(asked))["metadata-location"]
        table = f"iceberg_scan('{location}')"
    else:
        database.execute(f"create secret (type iceberg, token '{token}')")
        database.execute(
            f"attach '' as cold (type iceberg, endpoint '{origin}/iceberg', access_delegation_mode 'none')"
        )
        table = "cold.svcctl.records"
    # A catalogue that is attached is asked once in a transaction.
    database.execute("begin")
    database.execute(f"prepare read as select {named} from {table} {where}")
    wait()
    return database.execute("execute read").fetch_arrow_table().to_pylist(), {}


rows, more = with_pyiceberg() if reader == "pyiceberg" else with_duckdb()
rows.sort(key=lambda row: (row["tenant"], row["store"], row["occurred_at"], row["event_id"]))
print(json.dumps({"rows": rows, **more}, default=lambda value: value.isoformat()))
