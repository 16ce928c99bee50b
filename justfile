# `just` lists these.
default:
    @just --list

# What happens with and without constraints
demo:
    cargo run --release -p kinfold-cli -- demo

# Format, lints, tests, doc tests, generated pages, the Python package
test:
    scripts/test

# Build a wheel, install it into target/python/venv, test it
python:
    scripts/test-python

# Write docs/methods from the table of methods
docs:
    scripts/docs

# Install the command
install:
    cargo install --path crates/kinfold-cli
