"""A caller that has the proto files and Python's own libraries, and nothing of the service's code.

It takes its settings as JSON from standard input, goes through the scenario that the client in Go goes through, and tells what it
saw as lines of JSON. What that should have been is for others to say: it judges nothing.
"""

import base64
import json
import sys
from datetime import datetime, timezone
from urllib.request import Request, urlopen

import grpc
from darkroom.v1 import access_pb2, access_pb2_grpc, catalog_pb2, catalog_pb2_grpc, credits_pb2, credits_pb2_grpc
from darkroom.v1 import generations_pb2, generations_pb2_grpc, media_pb2, operations_pb2, operations_pb2_grpc, uploads_pb2, uploads_pb2_grpc
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.struct_pb2 import Struct
from grpc_health.v1 import health_pb2, health_pb2_grpc

from tell import Metadata, ask, follow

NOBODY = "00000000-0000-4000-8000-000000000000"
MAXIMUM = 2**53 - 1
SERVICES = [
    file.DESCRIPTOR.services_by_name[name].full_name
    for file, name in (
        (generations_pb2, "Generations"), (uploads_pb2, "Uploads"), (credits_pb2, "Credits"),
        (catalog_pb2, "Catalog"), (access_pb2, "Access"), (operations_pb2, "Operations"),
    )
]

Creation = generations_pb2.CreateGenerationRequest


def acting(token: str, owner: dict[str, str]) -> Metadata:
    """A call by the service with this token, acting for somebody."""
    return (("authorization", f"Bearer {token}"), ("darkroom-account-id", owner["account_id"]), ("darkroom-app-id", owner["app_id"]))


def creation(key: str, **parameters: object) -> Creation:
    """Asks for what the tests' own model makes, as its parameters say."""
    struct = Struct()
    struct.update(parameters)
    return Creation(idempotency_key=key, input=generations_pb2.GenerationInput(
        model_key="sandbox-test", operation=media_pb2.OPERATION_IMAGE_GENERATION, prompt="a lighthouse", client_trace_id="scenario:1", parameters=struct))


def small(key: str) -> Creation:
    return creation(key, size="128x128", n=2)


class Scenario:
    def __init__(self, channel: grpc.Channel, settings: dict) -> None:
        self.channel = channel
        self.settings = settings
        self.generations = generations_pb2_grpc.GenerationsStub(channel)
        self.mine = acting(settings["token"], settings["owner"])

    def play(self) -> None:
        self.discover()
        self.generate()
        self.list()
        self.upload()
        self.refusals()
        self.waits()
        self.operate()

    def discover(self) -> None:
        health = health_pb2_grpc.HealthStub(self.channel)
        for service in ["", *SERVICES, "nobody"]:
            ask(f"health of {service}", health.Check, health_pb2.HealthCheckRequest(service=service))
        # Neither a token nor an account.
        ask("models", catalog_pb2_grpc.CatalogStub(self.channel).ListModels, catalog_pb2.ListModelsRequest())

    def create(self, step: str, request: Creation, metadata: Metadata) -> str:
        return ask(step, self.generations.CreateGeneration, request, metadata).generation.generation_id

    def watch(self, generation_id: str, metadata: Metadata, timeout: float | None = None) -> grpc.Call:
        return self.generations.WatchGeneration(generations_pb2.WatchGenerationRequest(generation_id=generation_id), metadata=metadata, timeout=timeout)

    def get(self, step: str, generation_id: str, metadata: Metadata, mask: FieldMask | None = None) -> None:
        ask(step, self.generations.GetGeneration, generations_pb2.GetGenerationRequest(generation_id=generation_id, read_mask=mask), metadata)

    def generate(self) -> None:
        mine = self.mine
        ask("estimate", self.generations.EstimateGeneration, generations_pb2.EstimateGenerationRequest(input=small("").input), mine)
        made = self.create("create", small("one"), (*mine, ("x-request-id", "scenario-create")))
        self.create("create again", small("one"), mine)
        ask("create another with its key", self.generations.CreateGeneration, creation("one"), mine)
        follow("watch", self.watch(made, mine))
        self.get("get", made, mine)
        self.get("get masked", made, mine, FieldMask(paths=["generation_id", "status"]))
        failed = self.create("create what fails", creation("two", behaviour="fail", error_code="CONTENT_REJECTED_OUTPUT"), mine)
        follow("watch what fails", self.watch(failed, mine))
        # Field 5000 with the value 1, of a contract that is newer than the server's.
        newer = Creation.FromString(small("three").SerializeToString() + b"\xc0\xb8\x02\x01")
        follow("watch what is newer", self.watch(self.create("create what is newer", newer, mine), mine))

    def list(self) -> None:
        token = ""
        for step in ("first page", "second page"):
            request = generations_pb2.ListGenerationsRequest(page_size=2, page_token=token, read_mask=FieldMask(paths=["generation_id"]))
            token = ask(step, self.generations.ListGenerations, request, self.mine).next_page_token

    def upload(self) -> None:
        uploads = uploads_pb2_grpc.UploadsStub(self.channel)
        picture = base64.b64decode(self.settings["picture"])
        prepared = ask("prepare", uploads.PrepareUpload, uploads_pb2.PrepareUploadRequest(
            filename="reference.png", media_type="image/png", byte_size=len(picture), role=media_pb2.REFERENCE_ROLE_REFERENCE_IMAGE, idempotency_key="prepare"), self.mine)
        urlopen(Request(prepared.upload_url, picture, dict(prepared.required_headers), method=prepared.method)).close()
        ask("complete", uploads.CompleteUpload, uploads_pb2.CompleteUploadRequest(upload_id=prepared.upload_id, idempotency_key="complete"), self.mine)

    def refusals(self) -> None:
        given, mine = self.settings, self.mine
        self.get("without a token", NOBODY, ())
        self.get("with a wrong token", NOBODY, acting("wrong", given["owner"]))
        self.get("for nobody", NOBODY, mine[:1])
        self.get("for an App of somebody else", NOBODY, acting(given["token"], {**given["owner"], "app_id": given["busy"]["app_id"]}))
        self.get("what there is not", NOBODY, mine)
        self.get("what is no id", "nothing", (*mine, ("x-request-id", "scenario-malformed")))
        ask("beyond the scopes", self.generations.CreateGeneration, small("four"), acting(given["reader_token"], given["owner"]))

        wrong = {step: small("four") for step in ("without a key", "without a prompt", "of an operation not said", "of an operation that is newer", "with a reference that is no id")}
        wrong["without a key"].ClearField("idempotency_key")
        wrong["without a prompt"].input.ClearField("prompt")
        wrong["of an operation not said"].input.operation = media_pb2.OPERATION_UNSPECIFIED
        wrong["of an operation that is newer"].input.operation = 99
        wrong["with a reference that is no id"].input.reference_upload_ids.append("nothing")
        for step, request in wrong.items():
            ask(step, self.generations.CreateGeneration, request, mine)

    def waits(self) -> None:
        """Has as many open generations as its account may have, none of which ends by itself."""
        busy = acting(self.settings["token"], self.settings["busy"])
        hanging = [self.create("create what hangs", creation(key, behaviour="hang"), busy) for key in ("one", "two", "three")][-1]
        ask("create one too many", self.generations.CreateGeneration, small("four"), busy)
        follow("watch until a deadline", self.watch(hanging, busy, timeout=0.3))
        left = self.watch(hanging, busy)
        follow("watch and leave", left, left.cancel)

        cancelling = generations_pb2.CancelGenerationRequest(generation_id=hanging)
        follow("watch and cancel it", self.watch(hanging, busy), lambda: ask("cancel", self.generations.CancelGeneration, cancelling, busy))

    def operate(self) -> None:
        """Has an account of its own, with as many credits as there can be."""
        operator = self.mine[:1]
        access, credits = access_pb2_grpc.AccessStub(self.channel), credits_pb2_grpc.CreditsStub(self.channel)
        account = ask("account", access.CreateAccount, access_pb2.CreateAccountRequest(display_name="Zoë’s 画室"), operator).account.account_id
        app = ask("App", access.CreateApp, access_pb2.CreateAppRequest(account_id=account, display_name="scenario"), operator).app.app_id
        key = access_pb2.CreateApiKeyRequest(app_id=app, display_name="scenario", scopes=["credits:read"])
        key.expire_time.FromDatetime(datetime(2099, 12, 31, 23, 59, 59, tzinfo=timezone.utc))
        ask("key", access.CreateApiKey, key, operator)
        grants = {"grant all there can be": MAXIMUM, "grant more than that at once": MAXIMUM + 1, "grant what has 64 bits": 2**63 - 1}
        for step, amount in grants.items():
            ask(step, credits.GrantCredits, credits_pb2.GrantCreditsRequest(account_id=account, operation_id=step, credits=amount, reason="scenario"), operator)
        ask("correct", credits.AdjustCredits, credits_pb2.AdjustCreditsRequest(account_id=account, operation_id="less", credits=-1, reason="scenario"), operator)
        ask("balance", credits.GetBalance, credits_pb2.GetBalanceRequest(), acting(self.settings["token"], {"account_id": account, "app_id": app}))
        ask("entries", credits.ListEntries, credits_pb2.ListEntriesRequest(account_id=account), operator)
        ask("retention", operations_pb2_grpc.OperationsStub(self.channel).GetRetention, operations_pb2.GetRetentionRequest(), operator)


if __name__ == "__main__":
    given = json.load(sys.stdin)
    with grpc.insecure_channel(given["address"]) as channel:
        Scenario(channel, given).play()
