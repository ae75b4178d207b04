import { useState } from 'preact/hooks';
import type { GenerationRequest, Json, Role } from '../../api-types.js';
import { Copyable } from '../../parts/buttons.js';
import { Segments } from '../../parts/fields.js';
import { Attention, PlaceLink } from '../../parts/parts.js';
import { ROLE_TEXTS } from '../form/references.js';

/** A request as programs would send it: with files of their own, since an upload belongs to the App that made it. */
export interface ShownRequest {
  readonly baseUrl: string;
  readonly request: Omit<GenerationRequest, 'reference_upload_ids'>;
  readonly references: readonly { readonly filename: string; readonly mediaType: string; readonly role: Role }[];
  readonly isVideo: boolean;
  /** The roles of references that the model takes. */
  readonly roles: readonly Role[];
}

/** A name for a file as it can be typed: nothing that a shell or a program takes for more than a name. */
export function plainName(name: string, index: number): string {
  const clean = name.replaceAll(/[^A-Za-z0-9._-]+/g, '-').replace(/^[-.]+/, '');
  return clean === '' ? `reference-${index + 1}` : clean;
}

const BASE = '/api/v1/developer';
const AUTHORIZATION = '-H "Authorization: Bearer $DARKROOM_API_KEY"';

/** The request for a shell with curl. Reference files are uploaded first. */
function curlText(shown: ShownRequest): string {
  const { baseUrl, request, references } = shown;
  const ids = references.map((_, index) => `$upload${index + 1}`);
  const body = ids.length === 0 ? request : { ...request, reference_upload_ids: ids };
  // The quote is closed around each id, so that the shell puts it in.
  const text = ids.reduce(
    (all, id) => all.replace(`"${id}"`, `"'${id}'"`),
    JSON.stringify(body).replaceAll("'", String.raw`'\''`),
  );
  const create = command([
    `curl ${baseUrl}${BASE}/generations`,
    AUTHORIZATION,
    '-H "Idempotency-Key: $(date +%s)-$$"',
    '-H "Content-Type: application/json"',
    '-H "Prefer: wait=60"',
    `-d '${text}'`,
  ]);
  if (references.length === 0) return create;
  return [
    String.raw`field() { sed -E "s/.*\"$1\":\"([^\"]*)\".*/\1/"; }`,
    ...references.map((reference, index) => uploadText(baseUrl, reference, index + 1)),
    create,
  ].join('\n\n');
}

function uploadText(
  baseUrl: string,
  { filename, mediaType, role }: ShownRequest['references'][number],
  number: number,
): string {
  const about = JSON.stringify({ filename, media_type: mediaType, role });
  const prepare = command([
    `prepared=$(curl -sS ${baseUrl}${BASE}/uploads`,
    AUTHORIZATION,
    `-H "Idempotency-Key: $(date +%s)-$$-${number}"`,
    '-H "Content-Type: application/json"',
    `-d '${about.slice(0, -1)},"byte_size":'$(($(wc -c < ${filename})))'}')`,
  ]);
  return [
    prepare,
    `upload${number}=$(echo "$prepared" | field upload_id)`,
    `curl -sS -T ${filename} -H "Content-Type: ${mediaType}" "$(echo "$prepared" | field upload_url)"`,
    command([
      `curl -sS -X POST ${baseUrl}${BASE}/uploads/$upload${number}/complete`,
      AUTHORIZATION,
      `-H "Idempotency-Key: $upload${number}"`,
    ]),
  ].join('\n');
}

function command(lines: readonly string[]): string {
  return lines.join(' \\\n  ');
}

/** The request as a program with the client library `darkroom-client`. */
function pythonText({ baseUrl, request, references, isVideo }: ShownRequest): string {
  const { operation: _operation, ...input } = request;
  const files = references.map(
    ({ filename, role }) => `            Reference(${JSON.stringify(filename)}, role=${JSON.stringify(role)}),`,
  );
  return [
    'import os',
    `from darkroom_client import Darkroom${files.length === 0 ? '' : ', Reference'}`,
    '',
    `with Darkroom(${JSON.stringify(baseUrl)}, os.environ["DARKROOM_API_KEY"]) as darkroom:`,
    '    made = darkroom.generate(',
    `        ${literal(PYTHON, input, '        ')},`,
    ...(files.length === 0 ? [] : ['        references=[', ...files, '        ],']),
    '    )',
    '    for index, file in enumerate(made.files):',
    `        file.save(f"output-{index + 1}.${isVideo ? 'mp4' : 'png'}")`,
    '    print(made.task["charged_credits"], "credits")',
  ].join('\n');
}

/** The request as a program with the client library `darkroom-client`. */
function typescriptText({ baseUrl, request, references, isVideo }: ShownRequest): string {
  const { operation: _operation, ...input } = request;
  const files = references.map(
    ({ filename, role }) => `    { file: await openAsBlob(${JSON.stringify(filename)}), role: '${role}' },`,
  );
  return [
    ...(files.length === 0 ? [] : ["import { openAsBlob } from 'node:fs';"]),
    "import { writeFile } from 'node:fs/promises';",
    "import { Darkroom } from 'darkroom-client';",
    '',
    `const darkroom = new Darkroom({ baseUrl: ${JSON.stringify(baseUrl)}, apiKey: process.env.DARKROOM_API_KEY ?? '' });`,
    'const { task, files } = await darkroom.generate({',
    ...Object.entries(input).map(([name, value]) => `  ${nameText(name)}: ${literal(TYPESCRIPT, value, '  ')},`),
    ...(files.length === 0 ? [] : ['  references: [', ...files, '  ],']),
    '});',
    `for (const [index, file] of files.entries()) await writeFile(\`output-\${index + 1}.${isVideo ? 'mp4' : 'png'}\`, file.bytes);`,
    'console.log(`${task.charged_credits} credits`);',
  ].join('\n');
}

/** How a language writes values. */
interface Literals {
  readonly indent: string;
  readonly name: (name: string) => string;
  readonly plain: (value: string | number | boolean | null) => string;
}

const PYTHON: Literals = {
  indent: '    ',
  name: (name) => JSON.stringify(name),
  plain: (value) =>
    value === null ? 'None' : value === true ? 'True' : value === false ? 'False' : JSON.stringify(value),
};
const TYPESCRIPT: Literals = { indent: '  ', name: nameText, plain: (value) => JSON.stringify(value) };

const OF_PICTURES = [
  'n',
  'size',
  'quality',
  'output_format',
  'output_compression',
  'background',
  'partial_images',
] as const;
/** The parameters that every release of the library `openai` takes by name; others go into its `extra_body`. */
const OPENAI_ARGUMENTS = {
  generate: [...OF_PICTURES, 'style', 'moderation'],
  edit: [...OF_PICTURES, 'input_fidelity'],
  video: ['size', 'seconds'],
} as const;
/** The names that the API of OpenAI has for parameters that models usually call otherwise. */
const OPENAI_NAMES: Readonly<Record<string, string>> = { format: 'output_format', duration_seconds: 'seconds' };

/** The request as a program with the library `openai`. */
function openAiText(shown: ShownRequest): string {
  const { baseUrl, isVideo, references, request } = shown;
  const isEdit = !isVideo && references.length > 0;
  const call = isVideo ? 'video = client.videos.create' : `pictures = client.images.${isEdit ? 'edit' : 'generate'}`;
  const kind = isVideo ? 'video' : isEdit ? 'edit' : 'generate';
  return [
    ...(isVideo ? ['import os', 'import time'] : ['import base64', 'import os']),
    '',
    `from openai import ${request.prompt === undefined ? 'NOT_GIVEN, ' : ''}OpenAI`,
    '',
    'client = OpenAI(',
    `    base_url=${JSON.stringify(`${baseUrl}/v1`)},`,
    '    api_key=os.environ["DARKROOM_API_KEY"],',
    ')',
    '',
    `${call}(`,
    ...openAiArguments(shown, kind),
    ')',
    ...(isVideo ? OPENAI_VIDEO : OPENAI_PICTURES),
  ].join('\n');
}

const OPENAI_VIDEO = [
  'while video.status in ("queued", "in_progress"):',
  '    time.sleep(1)',
  '    video = client.videos.retrieve(video.id)',
  'if video.error:',
  '    raise SystemExit(video.error.message)',
  'client.videos.download_content(video.id).write_to_file("output-1.mp4")',
  'print(video.darkroom["charged_credits"], "credits")',
];
const OPENAI_PICTURES = [
  'for index, picture in enumerate(pictures.data):',
  '    with open(f"output-{index + 1}.png", "wb") as file:',
  '        file.write(base64.b64decode(picture.b64_json))',
  'print(pictures.darkroom["charged_credits"], "credits")',
];

/** The lines of the arguments. Edits and videos are sent as forms, in which a value of several parts is JSON. */
function openAiArguments({ request, references }: ShownRequest, kind: keyof typeof OPENAI_ARGUMENTS): string[] {
  const files = references.map(({ filename }) => `open(${JSON.stringify(filename)}, "rb")`);
  const named: [string, Json][] = request.prompt === undefined ? [] : [['prompt', request.prompt]];
  const others: [string, Json][] =
    request.negative_prompt === undefined ? [] : [['negative_prompt', request.negative_prompt]];
  for (const [parameter, value] of Object.entries<Json>(request.parameters ?? {})) {
    const name = OPENAI_NAMES[parameter] ?? parameter;
    if (!OPENAI_ARGUMENTS[kind].some((known) => known === name))
      others.push([parameter, kind === 'generate' || typeof value !== 'object' ? value : JSON.stringify(value)]);
    else named.push([name, name === 'seconds' ? JSON.stringify(value) : value]);
  }
  return [
    `    model=${literal(PYTHON, request.model_key, '    ')},`,
    // The library demands the argument, and does not send this value of it.
    ...(request.prompt === undefined ? ['    prompt=NOT_GIVEN,'] : []),
    ...named.map(([name, value]) => `    ${name}=${literal(PYTHON, value, '    ')},`),
    ...(kind === 'edit' ? [`    image=${files.length === 1 ? files[0] : `[${files.join(', ')}]`},`] : []),
    ...(kind === 'video' ? files.map((file) => `    input_reference=${file},`) : []),
    ...(others.length === 0 ? [] : [`    extra_body=${literal(PYTHON, Object.fromEntries(others), '    ')},`]),
  ];
}

/** Why the request cannot be sent by the API of OpenAI, as a sentence; undefined where it can be sent. */
function whyNotOpenAi({ references, isVideo, roles }: ShownRequest): string | undefined {
  if (isVideo && references.length > 1)
    return 'The API of OpenAI takes one file for a video: remove the others, or choose another language here.';
  const taken = isVideo && roles.includes('start_frame') ? 'start_frame' : 'reference_image';
  return references.every(({ role }) => role === taken)
    ? undefined
    : `The API of OpenAI takes each file of this model as a ${ROLE_TEXTS[taken].toLowerCase()}: make it one, or choose another language here.`;
}

function literal(language: Literals, value: Json, indent: string): string {
  if (typeof value !== 'object' || value === null) return language.plain(value);
  if (Array.isArray(value)) return `[${value.map((item) => literal(language, item as Json, indent)).join(', ')}]`;
  const inner = indent + language.indent;
  const lines = Object.entries(value).map(
    ([name, item]) => `${inner}${language.name(name)}: ${literal(language, item, inner)},`,
  );
  return lines.length === 0 ? '{}' : ['{', ...lines, `${indent}}`].join('\n');
}

function nameText(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name);
}

interface Language {
  readonly name: string;
  readonly title: string;
  readonly text: (shown: ShownRequest) => string;
  /** The command that installs the library; absent where there is none. */
  readonly install?: string;
  /** The command that installs the library from a checkout of Darkroom, until it is published. */
  readonly fromCheckout?: string;
  /** Why the request cannot be sent in this way; undefined where it can. */
  readonly whyNot?: (shown: ShownRequest) => string | undefined;
}

const CURL: Language = { name: 'curl', title: 'curl', text: curlText };
const OPENAI: Language = {
  name: 'openai',
  title: 'OpenAI',
  text: openAiText,
  install: 'pip install openai',
  whyNot: whyNotOpenAi,
};
const LANGUAGES: readonly Language[] = [
  CURL,
  {
    name: 'typescript',
    title: 'TypeScript',
    text: typescriptText,
    install: 'npm install darkroom-client',
    fromCheckout: 'npm install $(node <checkout>/clients/pack.mjs)',
  },
  {
    name: 'python',
    title: 'Python',
    text: pythonText,
    install: 'pip install darkroom-client',
    fromCheckout: 'pip install <checkout>/clients/python',
  },
];

interface CodeViewProps {
  readonly shown: ShownRequest;
  /** Whether the service has the API of OpenAI. */
  readonly hasOpenAi: boolean;
}

/** The request of the form, as programs send it. */
export function CodeView({ shown, hasOpenAi }: CodeViewProps) {
  const [name, setName] = useState(CURL.name);
  const languages = hasOpenAi ? [...LANGUAGES, OPENAI] : LANGUAGES;
  const { title, text, install, fromCheckout, whyNot } = languages.find((one) => one.name === name) ?? CURL;
  const obstacle = whyNot?.(shown);
  return (
    <div class="stack">
      <Segments
        label="Language"
        options={languages.map((one) => ({ value: one.name, text: one.title }))}
        value={name}
        changed={setName}
      />
      <p class="small muted">
        The request of the form. Put the secret of <PlaceLink page="keys">an API key</PlaceLink> into the variable{' '}
        <code>DARKROOM_API_KEY</code>.
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
          <Copyable text={text(shown)} what={`the request for ${title}`} />
        </>
      ) : (
        <Attention>{obstacle}</Attention>
      )}
    </div>
  );
}
