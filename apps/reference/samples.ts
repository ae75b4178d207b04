/** Samples of a request for a shell, for TypeScript and for Python. They are run as they stand by the tests. */
import type { Json, JsonObject } from '../../core/json.js';
import type { Body, Operation } from './document.js';

export interface Sample {
  readonly language: 'curl' | 'typescript' | 'python';
  readonly label: string;
  readonly code: string;
}

const DEVELOPER = '/api/';

/** The samples of an operation: curl, and the client libraries where they have a method for it. */
export function samplesOf(operation: Operation): readonly Sample[] {
  const found: Sample[] = [{ language: 'curl', label: 'curl', code: curlOf(operation) }];
  const library = operation.path.startsWith(DEVELOPER) ? DARKROOM : OPENAI;
  const calls = library.calls[operation.operationId];
  const body = operation.bodies.find(({ example }) => example !== undefined)?.example ?? {};
  if (calls?.typescript !== undefined)
    found.push({ language: 'typescript', label: 'TypeScript', code: typescriptOf(library, calls.typescript, body) });
  if (calls?.python !== undefined)
    found.push({ language: 'python', label: 'Python', code: pythonOf(library, calls.python, body) });
  return found;
}

/** The name of the environment variable with the value of a parameter in the path. */
export function variableOf(parameter: string): string {
  return parameter.toUpperCase();
}

function curlOf({ method, path, parameters, bodies, isPublic, responses }: Operation): string {
  const [body] = bodies;
  const url = parameters
    .filter((parameter) => parameter.in === 'path')
    .reduce((at, { name, example }) => at.replace(`{${name}}`, shown(example) ?? `$${variableOf(name)}`), path);
  const mediaTypes = responses.flatMap(({ contents }) => contents.map(({ mediaType }) => mediaType));
  const isForm = body?.mediaType === 'multipart/form-data';
  const flags = [
    mediaTypes.every((type) => type === 'text/event-stream') && mediaTypes.length > 0 ? '-N' : '-sS',
    '--fail-with-body',
    ...(mediaTypes.includes('video/mp4') ? ['-o video.mp4'] : []),
    ...(method === 'GET' || (method === 'POST' && body !== undefined) ? [] : [`-X ${method}`]),
  ];
  const headers = parameters
    .filter((parameter) => parameter.in === 'header' && parameter.required)
    .map(({ name, example }) => `-H "${name}: ${shown(example) ?? ''}"`);
  return [
    `curl "$DARKROOM_URL${url}"`,
    flags.join(' '),
    ...(isPublic ? [] : ['-H "Authorization: Bearer $DARKROOM_API_KEY"']),
    ...headers,
    ...(body === undefined || isForm ? [] : [`-H "Content-Type: ${body.mediaType}"`]),
    ...(body === undefined ? [] : isForm ? formFields(body) : [`-d ${quoted(JSON.stringify(body.example, null, 2))}`]),
  ].join(' \\\n  ');
}

function formFields({ schema, example = {} }: Body): string[] {
  const properties = schema['properties'] as Record<string, JsonObject>;
  return Object.entries(example).map(([name, value]) => {
    const isFile = properties[name]?.['format'] === 'binary';
    return `-F ${quoted(`${name}=${isFile ? '@' : ''}${shown(value)}`)}`;
  });
}

function shown(value: Json | undefined): string | undefined {
  return value === undefined ? undefined : typeof value === 'string' ? value : JSON.stringify(value);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** The lines of a sample behind those that make the client. `BODY` is the example of the document. */
interface Calls {
  readonly typescript?: string;
  readonly python?: string;
}

/** A client library: the lines that make a client, and its calls by operation. */
interface Library {
  readonly typescript: readonly string[];
  readonly python: readonly string[];
  readonly calls: Readonly<Record<string, Calls>>;
}

/** The calls of each operation. Ids come from environment variables, as in the samples for curl. */
const DARKROOM_CALLS: Readonly<Record<string, Calls>> = {
  listModels: {
    typescript: 'for (const { model_key } of await darkroom.models()) console.log(model_key);',
    python: 'for model in darkroom.models():\n    print(model["model_key"])',
  },
  getModel: {
    typescript: "const model = await darkroom.model('sandbox-image');\nconsole.log(model.input_schema);",
    python: 'model = darkroom.model("sandbox-image")\nprint(model["input_schema"])',
  },
  getCredits: {
    typescript: 'console.log(await darkroom.credits());',
    python: 'print(darkroom.credits())',
  },
  listCreditEntries: {
    typescript: 'for await (const entry of darkroom.creditEntries()) console.log(entry);',
    python: 'for entry in darkroom.credit_entries():\n    print(entry)',
  },
  getUsage: {
    typescript: "for await (const row of darkroom.usage({ by: 'day' })) console.log(row.day, row.charged_credits);",
    python: 'for row in darkroom.usage({"by": "day"}):\n    print(row["day"], row["charged_credits"])',
  },
  createGeneration: {
    typescript: 'const task = await darkroom.createGeneration(BODY);\nconsole.log(task.generation_id, task.status);',
    python: 'task = darkroom.create_generation(BODY)\nprint(task["generation_id"], task["status"])',
  },
  listGenerations: {
    typescript:
      "for await (const task of darkroom.generations({ status: 'succeeded' })) console.log(task.generation_id);",
    python: 'for task in darkroom.generations({"status": "succeeded"}):\n    print(task["generation_id"])',
  },
  estimateGeneration: {
    typescript: 'const estimate = await darkroom.estimate(BODY);\nconsole.log(estimate.estimated_credits);',
    python: 'estimate = darkroom.estimate(BODY)\nprint(estimate["estimated_credits"])',
  },
  getGeneration: {
    typescript: 'const task = await darkroom.generation(GENERATION_ID);\nconsole.log(task.status);',
    python: 'task = darkroom.generation(GENERATION_ID)\nprint(task["status"])',
  },
  getThumbnails: {
    typescript: 'for (const output of await darkroom.thumbnails(GENERATION_ID)) console.log(output);',
    python: 'for output in darkroom.thumbnails(GENERATION_ID):\n    print(output)',
  },
  deleteGeneration: {
    typescript: 'await darkroom.deleteGeneration(GENERATION_ID);',
    python: 'darkroom.delete_generation(GENERATION_ID)',
  },
  watchGeneration: {
    typescript: 'for await (const event of darkroom.events(GENERATION_ID)) console.log(event.type);',
    python: 'for event in darkroom.events(GENERATION_ID):\n    print(event["type"])',
  },
  watchEvents: {
    typescript: 'for await (const event of darkroom.appEvents()) console.log(event.task.generation_id, event.type);',
    python: 'for event in darkroom.app_events():\n    print(event["task"]["generation_id"], event["type"])',
  },
  cancelGeneration: {
    typescript: 'const task = await darkroom.cancel(GENERATION_ID);\nconsole.log(task.status);',
    python: 'task = darkroom.cancel(GENERATION_ID)\nprint(task["status"])',
  },
  prepareUpload: {
    typescript: 'const upload = await darkroom.prepareUpload(BODY);\nconsole.log(upload.upload_id, upload.upload_url);',
    python:
      '# Prepares the upload, sends the bytes and completes it.\nupload_id = darkroom.upload("reference.png")\nprint(upload_id)',
  },
  getUpload: {
    typescript: 'const upload = await darkroom.uploadState(UPLOAD_ID);\nconsole.log(upload.status);',
    python: 'upload = darkroom.upload_state(UPLOAD_ID)\nprint(upload["status"])',
  },
  deleteUpload: {
    typescript: 'await darkroom.deleteUpload(UPLOAD_ID);',
    python: 'darkroom.delete_upload(UPLOAD_ID)',
  },
  completeUpload: {
    typescript: 'const upload = await darkroom.completeUpload(UPLOAD_ID, BODY);\nconsole.log(upload.status);',
  },
  createWebhook: {
    typescript:
      'const webhook = await darkroom.webhooks.create(BODY);\nconsole.log(webhook.webhook_id, webhook.secret);',
    python: 'webhook = darkroom.webhooks.create(BODY)\nprint(webhook["webhook_id"], webhook["secret"])',
  },
  listWebhooks: {
    typescript: 'for (const webhook of await darkroom.webhooks.list()) console.log(webhook.webhook_id, webhook.url);',
    python: 'for webhook in darkroom.webhooks.list():\n    print(webhook["webhook_id"], webhook["url"])',
  },
  getWebhook: {
    typescript: 'console.log(await darkroom.webhooks.get(WEBHOOK_ID));',
    python: 'print(darkroom.webhooks.get(WEBHOOK_ID))',
  },
  updateWebhook: {
    typescript: 'const webhook = await darkroom.webhooks.update(WEBHOOK_ID, BODY);\nconsole.log(webhook);',
    python: 'webhook = darkroom.webhooks.update(WEBHOOK_ID, BODY)\nprint(webhook)',
  },
  deleteWebhook: {
    typescript: 'await darkroom.webhooks.delete(WEBHOOK_ID);',
    python: 'darkroom.webhooks.delete(WEBHOOK_ID)',
  },
  rotateWebhookSecret: {
    typescript: 'const { secret } = await darkroom.webhooks.rotateSecret(WEBHOOK_ID);\nconsole.log(secret);',
    python: 'rotated = darkroom.webhooks.rotate_secret(WEBHOOK_ID)\nprint(rotated["secret"])',
  },
  testWebhook: {
    typescript: 'const delivery = await darkroom.webhooks.test(WEBHOOK_ID);\nconsole.log(delivery.state);',
    python: 'delivery = darkroom.webhooks.test(WEBHOOK_ID)\nprint(delivery["state"])',
  },
  listWebhookDeliveries: {
    typescript: 'for await (const delivery of darkroom.webhooks.deliveries(WEBHOOK_ID)) console.log(delivery.state);',
    python: 'for delivery in darkroom.webhooks.deliveries(WEBHOOK_ID):\n    print(delivery["state"])',
  },
  replayWebhookDelivery: {
    typescript:
      'const delivery = await darkroom.webhooks.replay(WEBHOOK_ID, DELIVERY_ID);\nconsole.log(delivery.state);',
    python: 'delivery = darkroom.webhooks.replay(WEBHOOK_ID, DELIVERY_ID)\nprint(delivery["state"])',
  },
  replayWebhookDeliveries: {
    typescript: 'const replayed = await darkroom.webhooks.replayAll(WEBHOOK_ID, BODY);\nconsole.log(replayed);',
    python: 'replayed = darkroom.webhooks.replay_all(WEBHOOK_ID, BODY)\nprint(replayed)',
  },
};

/** The calls of OpenAI's own libraries. */
const OPENAI_CALLS: Readonly<Record<string, Calls>> = {
  createImage: {
    typescript:
      "const images = await client.images.generate(BODY);\nconst [image] = images.data ?? [];\nawait writeFile('lighthouse.png', image?.b64_json ?? '', 'base64');",
    python:
      'images = client.images.generate(**BODY)\nwith open("lighthouse.png", "wb") as file:\n    file.write(base64.b64decode(images.data[0].b64_json))',
  },
  createImageEdit: {
    typescript:
      "const images = await client.images.edit({\n  model: 'sandbox-image',\n  prompt: 'the same by night',\n  image: createReadStream('lighthouse.png'),\n});\nconst [image] = images.data ?? [];\nawait writeFile('night.png', image?.b64_json ?? '', 'base64');",
    python:
      'with open("lighthouse.png", "rb") as image:\n    images = client.images.edit(model="sandbox-image", prompt="the same by night", image=image)\nwith open("night.png", "wb") as file:\n    file.write(base64.b64decode(images.data[0].b64_json))',
  },
  createVideo: {
    typescript: 'const video = await client.videos.create(BODY);\nconsole.log(video.id, video.status);',
    python: 'video = client.videos.create(**BODY)\nprint(video.id, video.status)',
  },
  listVideos: {
    typescript: 'for await (const video of client.videos.list()) console.log(video.id, video.status);',
    python: 'for video in client.videos.list():\n    print(video.id, video.status)',
  },
  getVideo: {
    typescript: 'const video = await client.videos.retrieve(VIDEO_ID);\nconsole.log(video.status, video.progress);',
    python: 'video = client.videos.retrieve(VIDEO_ID)\nprint(video.status, video.progress)',
  },
  getVideoContent: {
    typescript:
      "const content = await client.videos.downloadContent(VIDEO_ID);\nawait writeFile('video.mp4', Buffer.from(await content.arrayBuffer()));",
    python: 'client.videos.download_content(VIDEO_ID).write_to_file("video.mp4")',
  },
  deleteVideo: {
    typescript: 'await client.videos.delete(VIDEO_ID);',
    python: 'client.videos.delete(VIDEO_ID)',
  },
  listModels: {
    typescript: 'for await (const model of client.models.list()) console.log(model.id);',
    python: 'for model in client.models.list():\n    print(model.id)',
  },
  getModel: {
    typescript: "console.log(await client.models.retrieve('sandbox-image'));",
    python: 'print(client.models.retrieve("sandbox-image"))',
  },
};

const DARKROOM: Library = {
  typescript: [
    "import { Darkroom } from 'darkroom-client';",
    '',
    'const darkroom = new Darkroom({',
    "  baseUrl: process.env.DARKROOM_URL ?? 'http://127.0.0.1:8080',",
    '  apiKey: process.env.DARKROOM_API_KEY,',
    '});',
  ],
  python: [
    'import os',
    'from darkroom_client import Darkroom',
    '',
    'darkroom = Darkroom(os.environ["DARKROOM_URL"], os.environ["DARKROOM_API_KEY"])',
  ],
  calls: DARKROOM_CALLS,
};

const OPENAI: Library = {
  typescript: [
    "import OpenAI from 'openai';",
    '',
    'const client = new OpenAI({',
    '  baseURL: `${process.env.DARKROOM_URL}/v1`,',
    '  apiKey: process.env.DARKROOM_API_KEY,',
    '});',
  ],
  python: [
    'import os',
    'from openai import OpenAI',
    '',
    'client = OpenAI(base_url=os.environ["DARKROOM_URL"] + "/v1", api_key=os.environ["DARKROOM_API_KEY"])',
  ],
  calls: OPENAI_CALLS,
};

const VARIABLE = /\b[A-Z]+_ID\b/g;

function typescriptOf(library: Library, call: string, body: JsonObject): string {
  const ids = [...new Set(call.match(VARIABLE))];
  const files = ['createReadStream', 'writeFile'].filter((name) => call.includes(name));
  return [
    ...files.map((name) => `import { ${name} } from 'node:fs${name === 'writeFile' ? '/promises' : ''}';`),
    ...library.typescript,
    ...ids.map((id) => `const ${camel(id)} = process.env.${id} ?? '';`),
    call.replace('BODY', typescriptLiteral(body, '')).replaceAll(VARIABLE, camel),
  ].join('\n');
}

function pythonOf(library: Library, call: string, body: JsonObject): string {
  return [
    ...(call.includes('base64') ? ['import base64'] : []),
    ...library.python,
    call
      .replace('**BODY', keywordsOf(body))
      .replace('BODY', pythonLiteral(body, ''))
      .replaceAll(VARIABLE, (id) => `os.environ["${id}"]`),
  ].join('\n');
}

function keywordsOf(body: JsonObject): string {
  return Object.entries(body)
    .map(([name, value]) => `${name}=${pythonLiteral(value, '')}`)
    .join(', ');
}

function camel(id: string): string {
  return id.toLowerCase().replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function typescriptLiteral(value: Json, indent: string): string {
  if (typeof value === 'string') return `'${value.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`;
  if (Array.isArray(value)) return `[${value.map((item) => typescriptLiteral(item, indent)).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return String(value);
  const inner = `${indent}  `;
  const fields = Object.entries(value).map(([name, field]) => `${inner}${name}: ${typescriptLiteral(field, inner)},\n`);
  return fields.length === 0 ? '{}' : `{\n${fields.join('')}${indent}}`;
}

function pythonLiteral(value: Json, indent: string): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map((item) => pythonLiteral(item, indent)).join(', ')}]`;
  if (typeof value !== 'object') return JSON.stringify(value);
  const inner = `${indent}    `;
  const fields = Object.entries(value).map(([name, field]) => `${inner}"${name}": ${pythonLiteral(field, inner)},\n`);
  return fields.length === 0 ? '{}' : `{\n${fields.join('')}${indent}}`;
}
