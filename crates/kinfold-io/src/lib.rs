//! Files for kinfold: tables, answer files and models.
