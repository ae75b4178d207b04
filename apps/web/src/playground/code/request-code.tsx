import { useState } from 'preact/hooks';
import type { GenerationRequest, Json, JsonObject, Operation, Role } from '../../api-types.js';
import { useModels } from '../../models/use-models.js';
import { Copyable } from '../../parts/buttons.js';
import { Segments } from '../../parts/fields.js';
import { Attention, PlaceLink } from '../../parts/parts.js';
import { overview } from '../../session.js';

/** A request as it is stored, or as a form has it. */
export interface CodeRequest {
  readonly model_key: string;
  readonly operation: Operation;
  readonly prompt?: string | null | undefined;
  readonly negative_prompt?: string | null | undefined;
  readonly parameters?: JsonObject | undefined;
  /** Names of parameters that have the default of the model: they are left out. */
  readonly defaults?: readonly string[] | undefined;
  readonly references?: readonly CodeReference[] | undefined;
}

export interface CodeReference {
  readonly role: Role;
  readonly media_type?: string | undefined;
  /** The code has another name where absent, or where a shell would take it for more than a name. */
  readonly filename?: string | undefined;
  readonly upload_id?: string | undefined;
}

/** A request as the API takes it. */
export type RequestBody = Omit<GenerationRequest, 'parameters'> & { readonly parameters?: JsonObject };

/** The body of a request, without what is empty. */
export function bodyOf(request: CodeRequest): RequestBody {
  const { model_key, operation, prompt, negative_prompt, parameters = {}, defaults = [], references = [] } = request;
  const given = Object.entries(parameters).filter(([name]) => !defaults.includes(name));
  const ids = references.flatMap(({ upload_id: id }) => id ?? []);
  return {
    model_key,
    operation,
    ...(prompt?.trim() ? { prompt } : {}),
    ...(negative_prompt?.trim() ? { negative_prompt } : {}),
    ...(given.length === 0 ? {} : { parameters: Object.fromEntries(given) }),
    ...(ids.length === 0 ? {} : { reference_upload_ids: ids }),
  };
}

export const ROLE_TEXTS: Readonly<Record<Role, string>> = {
  reference_image: 'Reference image',
  start_frame: 'Start frame',
  end_frame: 'End frame',
};

type Sent = ReturnType<typeof sentFor>;

interface Language {
  text: (sent: Sent) => string;
  /** The command that installs the library. */
  install?: string;
  /** The same from a checkout of Darkroom, until the library is published. */
  fromCheckout?: string;
}

const OPENAI = 'OpenAI';
const LANGUAGES: Readonly<Record<string, Language>> = {
  curl: { text: curl },
  TypeScript: {
    text: typescript,
    install: 'npm install darkroom-client',
    fromCheckout: 'npm install $(node <checkout>/clients/pack.mjs)',
  },
  Python: {
    text: python,
    install: 'pip install darkroom-client',
    fromCheckout: 'pip install <checkout>/clients/python',
  },
  [OPENAI]: { text: openAi, install: 'pip install openai' },
};

/** A request as programs send it, in the language that the person chooses. */
export function RequestCode({ request }: { request: CodeRequest }) {
  const [title, choose] = useState('curl');
  const models = useModels();
  const titles = Object.keys(LANGUAGES).filter((one) => one !== OPENAI || overview.value?.has_openai === true);
  const { text = curl, install, fromCheckout } = LANGUAGES[title] ?? {};
  const sent = sentFor(request);
  const model = models.value?.find(({ model_key: key }) => key === request.model_key);
  const obstacle = title === OPENAI ? whyNotOpenAi(sent, model?.limits.reference_roles ?? []) : undefined;
  return (
    <div class="stack">
      <Segments
        label="Language"
        options={titles.map((value) => ({ value, text: value }))}
        value={title}
        changed={choose}
      />
      <p class="small muted">
        Put the secret of <PlaceLink page="keys">an API key</PlaceLink> into the variable <code>DARKROOM_API_KEY</code>.
      </p>
      {obstacle === undefined ? (
        <>
          {install === undefined ? null : <Copyable text={install} what="the command that installs the library" />}
          {fromCheckout === undefined ? null : (
            <p class="small muted">
              Before the first release there is no such package: run <code>{fromCheckout}</code>, with the folder of a
              checkout of Darkroom.
            </p>
          )}
          <Copyable text={text(sent)} what={`the request for ${title}`} />
        </>
      ) : (
        <Attention>{obstacle}</Attention>
      )}
    </div>
  );
}

/** The data that a program sends. It uploads files of its own, since an upload belongs to the App that made it. */
function sentFor(request: CodeRequest) {
  const { operation, reference_upload_ids: _ids, ...input } = bodyOf(request);
  const files = (request.references ?? []).map(({ role, media_type: type, filename = '' }, index) => {
    const media = type || 'image/png';
    const clean = filename.replaceAll(/[^A-Za-z0-9._-]+/g, '-').replace(/^[-.]+/, '');
    return { filename: clean || `reference-${index + 1}.${media.slice('image/'.length)}`, media_type: media, role };
  });
  return { url: overview.value?.base_url ?? '', operation, isVideo: operation === 'video_generation', input, files };
}

/** Why the API of OpenAI cannot send the request to a model that takes files in these roles; undefined where it can. */
function whyNotOpenAi({ files, isVideo }: Sent, roles: readonly Role[]): string | undefined {
  if (isVideo && files.length > 1)
    return 'The API of OpenAI takes one file for a video: remove the others, or choose another language here.';
  const taken = isVideo && roles.includes('start_frame') ? 'start_frame' : 'reference_image';
  return files.every(({ role }) => role === taken)
    ? undefined
    : `The API of OpenAI takes each file of this model as a ${ROLE_TEXTS[taken].toLowerCase()}: make it one, or choose another language here.`;
}

/** For a shell. Reference files are uploaded first. */
function curl({ url, input, operation, files }: Sent): string {
  const call = (start: string, key: string, ...more: string[]): string =>
    [start, '-H "Authorization: Bearer $DARKROOM_API_KEY"', `-H "Idempotency-Key: ${key}"`, ...more].join(' \\\n  ');
  const json = '-H "Content-Type: application/json"';
  const api = `${url}/api/v1/developer`;
  const uploads = files.map(({ filename, media_type, role }, index) => {
    const number = index + 1;
    const about = JSON.stringify({ filename, media_type, role }).slice(0, -1);
    const body = `-d '${about},"byte_size":'$(($(wc -c < ${filename})))'}')`;
    return `${call(`prepared=$(curl -sS --fail-with-body ${api}/uploads`, `$(date +%s)-$$-${number}`, json, body)}
upload${number}=$(echo "$prepared" | field upload_id)
curl -sS --fail-with-body -T ${filename} -H "Content-Type: ${media_type}" "$(echo "$prepared" | field upload_url)"
${call(`curl -sS --fail-with-body -X POST ${api}/uploads/$upload${number}/complete`, `$upload${number}`)}`;
  });
  const request = JSON.stringify({ operation, ...input }).replaceAll("'", String.raw`'\''`);
  // The quote is closed around each id, so that the shell puts it in.
  const ids = files.map((_, index) => `"'$upload${index + 1}'"`).join(',');
  const body = ids === '' ? request : `${request.slice(0, -1)},"reference_upload_ids":[${ids}]}`;
  return [
    ...(ids === '' ? [] : [String.raw`field() { sed -E "s/.*\"$1\":\"([^\"]*)\".*/\1/"; }`]),
    ...uploads,
    call(
      `curl -sS --fail-with-body ${api}/generations`,
      '$(date +%s)-$$',
      json,
      '-H "Prefer: wait=60"',
      `-d '${body}'`,
    ),
  ].join('\n\n');
}

/** With the client library `darkroom-client`. */
function typescript({ url, input, files, isVideo }: Sent): string {
  const names = JSON.stringify(input, null, 2).replaceAll(/(\n *)"([A-Za-z_]\w*)":/g, '$1$2:');
  const references = files.map(
    ({ filename, role }) => `\n    { file: await openAsBlob(${JSON.stringify(filename)}), role: '${role}' },`,
  );
  const rest = references.length === 0 ? '' : `,\n  references: [${references.join('')}\n  ]`;
  return `${rest === '' ? '' : "import { openAsBlob } from 'node:fs';\n"}import { writeFile } from 'node:fs/promises';
import { Darkroom } from 'darkroom-client';

const darkroom = new Darkroom({ baseUrl: ${JSON.stringify(url)}, apiKey: process.env.DARKROOM_API_KEY ?? '' });
const { task, files } = await darkroom.generate(${names.slice(0, -2)}${rest}
});
for (const [index, file] of files.entries()) await writeFile(\`output-\${index + 1}.${isVideo ? 'mp4' : 'png'}\`, file.bytes);
console.log(\`\${task.charged_credits} credits\`);`;
}

/** With the client library `darkroom-client`. */
function python({ url, input, files, isVideo }: Sent): string {
  const references = files.map(
    ({ filename, role }) => `\n            Reference(${JSON.stringify(filename)}, role=${JSON.stringify(role)}),`,
  );
  const rest = references.length === 0 ? '' : `\n        references=[${references.join('')}\n        ],`;
  return `import os
from darkroom_client import Darkroom${rest === '' ? '' : ', Reference'}

with Darkroom(${JSON.stringify(url)}, os.environ["DARKROOM_API_KEY"]) as darkroom:
    made = darkroom.generate(
        ${pythonValue(input, '        ')},${rest}
    )
    for index, file in enumerate(made.files):
        file.save(f"output-{index + 1}.${isVideo ? 'mp4' : 'png'}")
    print(made.task["charged_credits"], "credits")`;
}

const CONSTANTS: Readonly<Record<string, string>> = { true: 'True', false: 'False', null: 'None' };

/** JSON with other constants, which alone can end a line without a quote. */
function pythonValue(value: Json, indent: string): string {
  return JSON.stringify(value, null, 4)
    .replaceAll(/\b(?:true|false|null)(?=,?(?:\n|$))/g, (constant) => CONSTANTS[constant] ?? constant)
    .replaceAll('\n', `\n${indent}`);
}

const OF_PICTURES = ['n', 'size', 'quality', 'output_format', 'output_compression', 'background', 'partial_images'];
/** The parameters that every release of the library `openai` takes by name; others go into its `extra_body`. */
const OPENAI_ARGUMENTS = {
  generate: [...OF_PICTURES, 'style', 'moderation'],
  edit: [...OF_PICTURES, 'input_fidelity'],
  video: ['size', 'seconds'],
};
/** The names that the API of OpenAI has for parameters that models usually call otherwise. */
const OPENAI_NAMES: Readonly<Record<string, string>> = { format: 'output_format', duration_seconds: 'seconds' };

/** With the library `openai`. Edits and videos are sent as forms, in which a value of several parts is JSON. */
function openAi({ url, input, files, isVideo }: Sent): string {
  const { model_key: model, prompt, negative_prompt, parameters = {} } = input;
  const kind = isVideo ? 'video' : files.length > 0 ? 'edit' : 'generate';
  const opened = files.map(({ filename }) => `open(${JSON.stringify(filename)}, "rb")`).join(', ');
  // The library demands the prompt, and does not send NOT_GIVEN.
  const given = prompt === undefined ? 'NOT_GIVEN' : JSON.stringify(prompt);
  const lines = [`model=${JSON.stringify(model)}`, `prompt=${given}`];
  const others: Record<string, Json> = negative_prompt ? { negative_prompt } : {};
  for (const [parameter, value] of Object.entries(parameters)) {
    const name = OPENAI_NAMES[parameter] ?? parameter;
    if (!OPENAI_ARGUMENTS[kind].includes(name))
      others[parameter] = kind === 'generate' || typeof value !== 'object' ? value : JSON.stringify(value);
    else lines.push(`${name}=${pythonValue(name === 'seconds' ? JSON.stringify(value) : value, '    ')}`);
  }
  if (kind === 'edit') lines.push(`image=${files.length === 1 ? opened : `[${opened}]`}`);
  if (kind === 'video' && opened !== '') lines.push(`input_reference=${opened}`);
  if (Object.keys(others).length > 0) lines.push(`extra_body=${pythonValue(others, '    ')}`);
  return `import ${isVideo ? 'os\nimport time' : 'base64\nimport os'}

from openai import ${prompt === undefined ? 'NOT_GIVEN, ' : ''}OpenAI

client = OpenAI(
    base_url=${JSON.stringify(`${url}/v1`)},
    api_key=os.environ["DARKROOM_API_KEY"],
)

${isVideo ? 'video = client.videos.create' : `pictures = client.images.${kind}`}(
${lines.map((line) => `    ${line},`).join('\n')}
)
${isVideo ? OPENAI_VIDEO : OPENAI_PICTURES}`;
}

const OPENAI_VIDEO = `while video.status in ("queued", "in_progress"):
    time.sleep(1)
    video = client.videos.retrieve(video.id)
if video.error:
    raise SystemExit(video.error.message)
client.videos.download_content(video.id).write_to_file("output-1.mp4")
print(video.darkroom["charged_credits"], "credits")`;
const OPENAI_PICTURES = `for index, picture in enumerate(pictures.data):
    with open(f"output-{index + 1}.png", "wb") as file:
        file.write(base64.b64decode(picture.b64_json))
print(pictures.darkroom["charged_credits"], "credits")`;
