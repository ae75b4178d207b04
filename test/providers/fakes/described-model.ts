import { Ajv2020 } from 'ajv/dist/2020.js';
import sharp from 'sharp';
import { type Json, type JsonObject, memberOf } from '../../../core/json.js';
import { mp4 } from '../../fixtures/videos.js';

/** The result of one request of a described model: the files, and the answer with their addresses. */
export interface DescribedResult {
  readonly answer: Json;
  readonly files: readonly DescribedFile[];
}

export interface DescribedFile {
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

export interface DescribedSchemas {
  /** The document that the references of both lead into. */
  readonly document: Json;
  readonly input: Json;
  readonly output: Json;
  /** The kind of files in an answer that does not state it. */
  readonly makes: 'image' | 'video';
}

/**
 * A model as its vendor describes it: it refuses requests that its description does not allow, and delivers what the
 * description says, in the size, the number and the length that were asked for. It reads the description by itself, with no
 * rule of the importer.
 */
export class DescribedModel {
  /** The format of pictures when the request names none. */
  mediaType = 'image/png';
  private readonly validate;

  constructor(private readonly schemas: DescribedSchemas) {
    const ajv = new Ajv2020({ strict: false, validateSchema: false, validateFormats: false, allErrors: true });
    const plain = (value: Json, id: string) => plainSchema(value, { id, document: schemas.document }) as object;
    ajv.addSchema(plain(schemas.document, ''), 'vendor');
    this.validate = ajv.compile(plain(schemas.input, 'vendor'));
  }

  /** The faults of an input, as texts; fields that are not described are faults too. */
  faultsOf(input: JsonObject): readonly string[] {
    this.validate(input);
    const known = Object.keys(memberOf(this.resolved(this.schemas.input), 'properties') ?? {});
    const unknown = Object.keys(input).filter((name) => !known.includes(name));
    const faults = (this.validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
    return [...faults, ...unknown.map((name) => `/${name} is not described`)];
  }

  /** `addressOf` gives the address of the file with this index. */
  async made(input: JsonObject, addressOf: (index: number) => string): Promise<DescribedResult> {
    const count = numberIn(input, ['num_images', 'num_outputs', 'n', 'number_of_images']) ?? 1;
    const file = await this.file(input);
    let next = 0;
    const answer = this.valueOf(this.schemas.output, '', count, () => addressOf(next++));
    return { answer, files: Array.from({ length: next }, () => file) };
  }

  private async file(input: JsonObject): Promise<DescribedFile> {
    if (this.schemas.makes === 'video') {
      return { mediaType: 'video/mp4', bytes: await videoOf(this.secondsIn(input)) };
    }
    const asked = [input['output_format'], input['format'], input['image_format']].find(
      (one) => typeof one === 'string',
    );
    const mediaType = asked === undefined ? this.mediaType : `image/${asked.replace(/^jpg$/, 'jpeg')}`;
    return { mediaType, bytes: await pictureOf(sizeIn(input) ?? { width: 64, height: 64 }, mediaType) };
  }

  /** Asked for in seconds, or in frames at a rate that is asked for or the usual one. */
  private secondsIn(input: JsonObject): number {
    const seconds = numberIn(input, ['duration', 'seconds', 'duration_seconds', 'total_video_length_seconds']);
    const frames = numberIn(input, ['num_frames', 'frames', 'number_of_frames']);
    if (seconds !== undefined || frames === undefined) return seconds ?? 1;
    const rates = ['fps', 'frames_per_second', 'frame_rate'];
    const properties = memberOf(this.resolved(this.schemas.input), 'properties');
    const usual = rates.map((name) => memberOf(this.resolved(memberOf(properties, name)), 'default'));
    return frames / (numberIn(input, rates) ?? numberIn({ usual: usual.find(Number) ?? null }, ['usual']) ?? 24);
  }

  /** A value of a schema; its files get addresses. */
  private valueOf(given: Json | undefined, name: string, count: number, address: () => string): Json {
    const schema = this.resolved(given);
    const { type, enum: listed, default: byDefault, properties, items, anyOf, allOf } = schema as Record<string, Json>;
    if (Array.isArray(listed)) return listed[0] ?? null;
    for (const variants of [anyOf, allOf])
      if (Array.isArray(variants) && variants.length > 0) {
        const first = variants.find((one) => memberOf(this.resolved(one), 'type') !== 'null');
        return this.valueOf(first, name, count, address);
      }
    if (properties !== undefined && memberOf(properties, 'url') !== undefined)
      return { url: address(), ...(this.schemas.makes === 'image' ? { content_type: this.mediaType } : {}) };
    if (properties !== undefined || type === 'object')
      return Object.fromEntries(
        Object.entries(properties ?? {}).map(([member, value]) => [
          member,
          this.valueOf(value, member, count, address),
        ]),
      );
    if (type === 'array') return Array.from({ length: count }, () => this.valueOf(items, name, count, address));
    if (type === 'string') return memberOf(schema, 'format') === 'uri' || name === '' ? address() : 'x';
    if (type === 'boolean') return false;
    return type === 'integer' || type === 'number' ? 1 : (byDefault ?? null);
  }

  private resolved(schema: Json | undefined): Json {
    const ref = memberOf(schema, '$ref');
    return typeof ref === 'string' ? this.resolved(referred(ref, this.schemas.document)) : (schema ?? {});
  }
}

function referred(ref: string, document: Json): Json | undefined {
  const steps = ref.replace('#/', '').split('/');
  return steps.reduce<Json | undefined>((at, step) => memberOf(at, step), document);
}

/**
 * What OpenAPI 3.0 and generators write beside JSON Schema, as JSON Schema; references lead into the document with this id. One
 * that leads nowhere, as in some recorded answers, allows everything.
 */
function plainSchema(value: Json, to: { readonly id: string; readonly document: Json }): Json {
  if (Array.isArray(value)) return value.map((item) => plainSchema(item, to));
  if (typeof value !== 'object' || value === null) return value;
  const { nullable, ...rest } = value;
  const plain: JsonObject = {};
  for (const [name, member] of Object.entries(rest)) {
    const isSkipped = ['default', 'example', 'examples'].includes(name) && !isSchemaMap(value);
    const isEmpty = ['anyOf', 'oneOf', 'allOf'].includes(name) && Array.isArray(member) && member.length === 0;
    if (name === '$ref' && typeof member === 'string') {
      if (referred(member, to.document) !== undefined) plain[name] = to.id + member;
    } else if (!isSkipped && !isEmpty) plain[name] = plainSchema(member, to);
  }
  return nullable === true ? { anyOf: [plain, { type: 'null' }] } : plain;
}

/** A mapping of names to schemas may have any name. */
function isSchemaMap(value: JsonObject): boolean {
  return Object.values(value).every((member) => typeof member === 'object' && member !== null);
}

function numberIn(input: JsonObject, names: readonly string[]): number | undefined {
  const value = names.map((name) => input[name]).find((one) => one !== undefined);
  const number = typeof value === 'string' ? Number.parseFloat(value) : value;
  return typeof number === 'number' && number > 0 ? number : undefined;
}

interface Size {
  readonly width: number;
  readonly height: number;
}

/** The presets of fal, of most models. */
const PRESETS: Readonly<Record<string, Size>> = {
  square_hd: { width: 1024, height: 1024 },
  square: { width: 512, height: 512 },
  portrait_4_3: { width: 768, height: 1024 },
  portrait_16_9: { width: 576, height: 1024 },
  landscape_4_3: { width: 1024, height: 768 },
  landscape_16_9: { width: 1024, height: 576 },
};

function sizeIn(input: JsonObject): Size | undefined {
  for (const value of [input, input['image_size'], input['size'], input['video_size'], input['resolution']]) {
    const [width, height] = [memberOf(value, 'width'), memberOf(value, 'height')];
    if (typeof width === 'number' && typeof height === 'number') return { width, height };
    const [, w, h] = /^(\d+)[x*](\d+)$/.exec(typeof value === 'string' ? value : '') ?? [];
    if (w !== undefined && h !== undefined) return { width: Number(w), height: Number(h) };
    if (typeof value === 'string' && Object.hasOwn(PRESETS, value)) return PRESETS[value];
  }
  return undefined;
}

const pictures = new Map<string, Promise<Uint8Array>>();
const videos = new Map<number, Promise<Uint8Array>>();

function pictureOf({ width, height }: Size, mediaType: string): Promise<Uint8Array> {
  const background = { r: 90, g: 120, b: 160 };
  const made = (): Promise<Uint8Array> =>
    sharp({ create: { width, height, channels: 3, background } })
      .toFormat(mediaType.replace('image/', '') as 'png')
      .toBuffer();
  return onceFor(pictures, `${width}x${height} ${mediaType}`, made);
}

function videoOf(seconds: number): Promise<Uint8Array> {
  return onceFor(videos, seconds, () => mp4(Math.round(10 * seconds), 16, 16));
}

function onceFor<K>(made: Map<K, Promise<Uint8Array>>, key: K, make: () => Promise<Uint8Array>): Promise<Uint8Array> {
  const known = made.get(key);
  if (known !== undefined) return known;
  const one = make();
  made.set(key, one);
  return one;
}
