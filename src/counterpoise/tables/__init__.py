"""From file, frame, array or sparse matrix to one `Table`, and from it to numbers."""

from counterpoise.tables.columns import Table, read_table, two_tables
from counterpoise.tables.encoding import TableEncoder
from counterpoise.tables.table_column import TableColumn

__all__ = ["Table", "TableColumn", "TableEncoder", "read_table", "two_tables"]
