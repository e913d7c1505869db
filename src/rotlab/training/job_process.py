"""A job of a sweep in a process of its own: `python -m rotlab.training.job_process`, started by `apart`."""

from rotlab.training.launch import train
from rotlab.training.started import serve

if __name__ == "__main__":
    serve(train)
