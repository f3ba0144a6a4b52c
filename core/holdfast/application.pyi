# For type checkers: the application that the distribution declares.
from holdfast_app.config import Config as Config
from holdfast_app.project import Holdfast as Holdfast
from holdfast_app.session import Session as Session
