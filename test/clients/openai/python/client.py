"""Uses the API of a service with the library openai, and prints what it got as JSON."""

import base64
import io
import json
import os
import sys

import openai

base_url, cut_url = sys.argv[1:]
PICTURE = {"model": "sandbox-image", "prompt": "a lighthouse", "size": "256x256"}


def client(url=base_url, key=os.environ["DARKROOM_API_KEY"]):
    return openai.OpenAI(base_url=url, api_key=key)


def refusal(work):
    try:
        work()
    except openai.APIStatusError as error:
        return [error.status_code, error.code, error.param]
    return None


images = client().images
first = images.generate(**PICTURE, n=2, extra_body={"seed": 7})
file = base64.b64decode(first.data[0].b64_json)
edited = images.edit(**PICTURE, image=[io.BytesIO(file), ("b.png", file)])
linked = images.generate(**PICTURE, response_format="url")
# Its connection is cut, and the library repeats the request by itself.
slow = {"model": "sandbox-test", "prompt": "x", "extra_body": {"behaviour": "slow", "delay_ms": 1500}}
repeated = client(cut_url).images.generate(**slow)
print(
    json.dumps(
        {
            "pictures": len(first.data),
            "edited": len(edited.data),
            "url": linked.data[0].url,
            "repeated": len(repeated.data),
            "models": [model.id for model in client().models.list()],
            "wrong key": refusal(lambda: client(key="svc_live_wrong").models.list()),
            "unknown model": refusal(lambda: images.generate(**{**PICTURE, "model": "gpt-5"})),
            "too many": refusal(lambda: images.generate(**PICTURE, n=9)),
            "refused": refusal(
                lambda: images.generate(
                    model="sandbox-test",
                    prompt="x",
                    extra_body={"behaviour": "refuse", "error_code": "CONTENT_REJECTED_INPUT"},
                )
            ),
        }
    )
)
