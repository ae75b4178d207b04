import { isObject, type JsonObject, memberOf } from '../../core/json.js';
import { shownText } from './bounded-json.js';
import { ImportRefused, type RecordedModel } from './proposal.js';
import type { VendorDocument } from './vendor-document.js';
import { fieldsOf } from './vendor-field.js';

/** The output of a model, and its place in the answer. */
export interface ModelOutput {
  readonly modality: 'image' | 'video';
  /** JSON Pointers; without `at` the output itself or its items are the results. */
  readonly at?: string;
  readonly withheldAt?: string;
  readonly makesList: boolean;
  /** A format that the schema of the output names, as a word of a media type. */
  readonly format?: string;
  readonly guesses: readonly string[];
}

/** The names under which results are looked for, the surest first. */
const NAMES = [
  'images',
  'image',
  'videos',
  'video',
  'outputs',
  'output',
  'result',
  'results',
  'image_url',
  'video_url',
];
const NO_RESULTS =
  /zip|mask|mesh|audio|sprite|thumb|preview|gif|depth|texture|glb|obj$|seed|timing|(?:^|_)logs?(?:_|$)/i;

/** Finds the results in the schema of the output. Throws `ImportRefused` for a model that makes neither pictures nor videos. */
export function outputOfModel(recorded: RecordedModel, document: VendorDocument): ModelOutput {
  return recorded.vendor === 'fal' ? falOutput(recorded, document) : containerOutput(recorded, document);
}

function falOutput({ id }: RecordedModel, { output, category = '' }: VendorDocument): ModelOutput {
  const properties = isObject(output['properties']) ? output['properties'] : {};
  const names = Object.keys(properties).filter((name) => !NO_RESULTS.test(name));
  const inOrder = [...NAMES.filter((name) => names.includes(name)), ...names.filter((name) => !NAMES.includes(name))];
  const found = inOrder.flatMap((name) => {
    const place = placeIn(properties[name] as JsonObject, `/${name}`);
    return place === undefined || !/^[A-Za-z0-9_]{1,64}$/.test(name) ? [] : [{ name, ...place }];
  });
  const [result] = found;
  if (result === undefined)
    throw new ImportRefused(`${id} makes neither pictures nor videos: its output has no such file.`);
  const modality =
    /video/.test(result.name) || (!/image/.test(result.name) && category.endsWith('video')) ? 'video' : 'image';
  if (/(?:audio|speech|music|3d|json|text)$/.test(category) && !/image|video/.test(result.name))
    throw new ImportRefused(`${id} makes neither pictures nor videos: fal files it under ${shownText(category, 40)}.`);
  const format = formatIn(properties[result.name] as JsonObject, modality);
  const hasFlags = isObject(properties['has_nsfw_concepts']) && result.makesList;
  return {
    modality,
    at: result.at,
    makesList: result.makesList,
    ...(hasFlags ? { withheldAt: '/has_nsfw_concepts/*' } : {}),
    ...(format === undefined ? {} : { format }),
    guesses: [],
  };
}

/** The pointer to the addresses in a file, or in a list of files. */
function placeIn(schema: JsonObject, at: string): { readonly at: string; readonly makesList: boolean } | undefined {
  for (const part of partsOf(schema)) {
    if (isObject(part['items'])) {
      const inner = placeIn(part['items'], `${at}/*`);
      if (inner !== undefined) return { ...inner, makesList: true };
    }
    if (isObject(memberOf(part['properties'], 'url'))) return { at: `${at}/url`, makesList: false };
    if (part['type'] === 'string' && (part['format'] === 'uri' || at.endsWith('url'))) return { at, makesList: false };
  }
  return undefined;
}

function partsOf(schema: JsonObject): JsonObject[] {
  const alternatives = ['anyOf', 'oneOf', 'allOf'].flatMap((keyword) => (schema[keyword] ?? []) as JsonObject[]);
  return [schema, ...alternatives.flatMap(partsOf)];
}

/** A format that the description or the default content type of a file names. */
function formatIn(schema: JsonObject, modality: 'image' | 'video'): string | undefined {
  for (const part of partsOf(schema)) {
    const file = isObject(part['items']) ? part['items'] : part;
    const type = memberOf(memberOf(file['properties'], 'content_type'), 'default');
    const known = modality === 'video' ? /^video\/(mp4)$/ : /^image\/(png|jpeg|webp)$/;
    const words = modality === 'video' ? /\bin (MP4) format/i : /\bin (PNG|JPEG|WebP) format/i;
    const [, named] = known.exec(typeof type === 'string' ? type : '') ?? [];
    const [, described] = words.exec(shownText(part['description'], 300)) ?? [];
    if (named !== undefined || described !== undefined) return named ?? described?.toLowerCase();
  }
  return undefined;
}

/** Words of models that make videos, and names of families that do. Replicate and Cog do not say what a file is. */
const VIDEO_WORDS = /(?:^|[^a-z])(?:videos?|[ti]2v|animate)(?:[^a-z]|$)/i;
const VIDEO_FAMILIES =
  /(?:^|[^a-z])(?:veo|kling|seedance|hailuo|sora|pika|pixverse|vidu|hunyuanvideo|ltx|mochi|cogvideox?|wan|ray|framepack)(?:[^a-z]|$)/i;
const VIDEO_FIELDS =
  /^(?:duration|num_frames|frames|fps|frames_per_second|frame_rate|generate_audio|loop|total_video_length_seconds|first_frame_image|last_frame_image|video_length)$/;

function containerOutput({ id }: RecordedModel, { input, output, description = '' }: VendorDocument): ModelOutput {
  const place = containerPlace(output);
  if (place === undefined)
    throw new ImportRefused(
      `${shownText(id, 100)} makes neither pictures nor videos: its output is not an address of a file.`,
    );
  const { fields } = fieldsOf(input);
  const hasVideoField = fields.some((field) => VIDEO_FIELDS.test(field.name));
  const name = nameOf(id);
  const isOther = /image|photo/i.test(name) || /\bimages?\b/i.test(description);
  const isFamily = VIDEO_FAMILIES.test(name) && !/image|photo/i.test(name);
  const isVideo = hasVideoField || VIDEO_WORDS.test(name) || isFamily || (!isOther && /\bvideos?\b/i.test(description));
  const modality = isVideo ? 'video' : 'image';
  return {
    ...place,
    modality,
    guesses: [
      ...(Object.keys(output).length === 0
        ? ['The schema does not describe the output; it is taken for the address of a file.']
        : []),
      `The schema does not say what the files are; its words say ${modality}s.`,
    ],
  };
}

function nameOf(id: string): string {
  return id.split(':')[0]?.split('/').at(-1) ?? id;
}

function containerPlace(output: JsonObject): Pick<ModelOutput, 'at' | 'makesList'> | undefined {
  if (Object.keys(output).every((key) => ['title', 'description'].includes(key))) return { makesList: false };
  for (const part of partsOf(output)) {
    if (isAddress(part)) return { makesList: false };
    if (isObject(part['items']) && partsOf(part['items']).some(isAddress)) return { makesList: true };
  }
  const properties = isObject(output['properties']) ? Object.entries(output['properties']) : [];
  for (const [name, schema] of properties) {
    if (!/^[A-Za-z0-9_]{1,64}$/.test(name) || NO_RESULTS.test(name)) continue;
    if (partsOf(schema as JsonObject).some(isAddress)) return { at: `/${name}`, makesList: false };
    if (itemsAreAddresses(schema as JsonObject)) return { at: `/${name}/*`, makesList: true };
  }
  return undefined;
}

function itemsAreAddresses(schema: JsonObject): boolean {
  return partsOf(schema).some((part) => isObject(part['items']) && partsOf(part['items']).some(isAddress));
}

function isAddress(schema: JsonObject): boolean {
  return schema['type'] === 'string' && schema['format'] === 'uri';
}
