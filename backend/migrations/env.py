"""Alembic's environment: takes the engine it is given, uses batch mode and the naming convention of the tables."""

from alembic import context

from backend.models import Base


def run() -> None:
    """Apply the migrations on the given engine."""
    with context.config.attributes["engine"].connect() as connection:
        context.configure(connection=connection, target_metadata=Base.metadata, render_as_batch=True, compare_type=True)
        with context.begin_transaction():
            context.run_migrations()
        connection.commit()


run()
