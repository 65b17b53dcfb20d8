"""NanoClaw's back end: an agent workspace in which every act is recorded, shown, stopped and undone."""
