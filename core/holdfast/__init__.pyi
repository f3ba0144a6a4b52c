# The names of `holdfast` for type checkers.
from holdfast.application import Holdfast as Holdfast
from holdfast.application import Session as Session
from holdfast.errors import FlushRefused as FlushRefused
from holdfast.errors import HoldfastError as HoldfastError
from holdfast.errors import Refused as Refused
from holdfast.hooks import hookimpl as hookimpl
from holdfast.models import CuratedDecision as CuratedDecision
from holdfast.models import CuratedEntry as CuratedEntry
from holdfast.models import Extraction as Extraction
from holdfast.models import Fact as Fact
from holdfast.models import Finding as Finding
from holdfast.models import HandoffFields as HandoffFields
from holdfast.models import Message as Message
from holdfast.models import Payload as Payload
from holdfast.models import Receipt as Receipt
from holdfast.models import StateMutation as StateMutation
from holdfast.models import Turn as Turn

__version__: str
