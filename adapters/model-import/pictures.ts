import type { JsonObject } from '../../core/json.js';
import { MAX_REFERENCE_UPLOADS } from '../../core/generation/quote.js';
import { isFrame, REFERENCE_ROLES, type ReferenceRole } from '../../core/generation/generation.js';
import type { Draft } from './draft.js';
import { ImportRefused } from './proposal.js';
import type { VendorField } from './vendor-field.js';

/** The files that a model takes: the keys of `provider_settings`, and what limits and roles follow. */
export interface ModelFiles {
  readonly references: Readonly<Partial<Record<ReferenceRole, JsonObject | JsonObject[]>>>;
  readonly mask?: JsonObject;
  readonly roles: readonly ReferenceRole[];
  /** A role for each file that a task needs at least. */
  readonly requiredRoles: readonly ReferenceRole[];
  /** How many files a task takes. */
  readonly most: number;
  /** The types of files that all fields take by their words; absent where they name none, or all that clients may upload. */
  readonly mediaTypes?: readonly string[];
  /** The smallest limit of a file that the schema names, in bytes. */
  readonly maxFileBytes?: number;
}

type FileKind = 'image' | 'video' | 'audio' | 'mask' | 'other';

const FILE_NAME =
  /(?:^|_)(?:urls?|uris?|image|images|img|photo|picture|pictures|file|files|mask|frame|video|videos|audio|audios)$/i;

/** Whether a field takes the address of a file, or a list of them, and what is in it. */
export function fileKind(field: VendorField): FileKind | undefined {
  const one = field.item ?? field;
  if (one.choices !== undefined || !one.types.has('string')) return undefined;
  const shown = field.shownAs ?? one.shownAs ?? '';
  const isFile = one.isUri || field.isUri || /^(?:image|video|audio|mask)s?$/.test(shown) || FILE_NAME.test(field.name);
  if (!isFile) return undefined;
  const words = `${field.name} ${shown}`.toLowerCase();
  if (/webhook|callback|lora|weight|checkpoint|ckpt|embedding|safetensor|archive|zip|font|model_url/.test(words))
    return 'other';
  if (/video|movie/.test(words)) return 'video';
  if (/audio|sound|voice|music|speech/.test(words)) return 'audio';
  if (/mask/.test(words)) return 'mask';
  if (/image|img|photo|picture|frame|pic|face|garment|subject|reference|style|character/.test(words)) return 'image';
  return /\b(?:image|picture|photo)\b/i.test(field.text) ? 'image' : 'other';
}

/** Takes all fields of files. Throws `ImportRefused` for a model that needs files of another kind. */
export function takeFiles(draft: Draft): ModelFiles {
  const { id, modality } = draft.subject;
  refuseWorkOnVideos(draft);
  const files = draft.left().flatMap((field) => {
    const kind = fileKind(field);
    return kind === undefined ? [] : [{ field, kind }];
  });
  for (const { field, kind } of files) {
    if (kind === 'image' || (kind === 'mask' && modality === 'image')) continue;
    if (field.isRequired && kind !== 'other')
      throw new ImportRefused(`${id} needs ${NEEDED[kind]}, and clients upload pictures only.`);
    draft.drop(
      field,
      kind === 'other' ? 'an address of the operator' : `takes ${NEEDED[kind]}; clients upload pictures only`,
    );
  }
  const byRole = rolesOf(
    draft,
    files.filter(({ kind }) => kind === 'image').map(({ field }) => field),
  );
  const references: Partial<Record<ReferenceRole, JsonObject | JsonObject[]>> = {};
  let most = 0;
  const counts = new Map<VendorField, number>();
  const isSingle = [...byRole.values()].flat().length === 1;
  for (const [role, fields] of byRole) {
    const rules = fields.map((field) => {
      draft.take(field);
      const many = field.types.has('array');
      const count = many ? picturesOf(draft, field) : 1;
      most += count;
      counts.set(field, count);
      return { field: field.name, ...(many ? { many, ...(isSingle ? {} : { maximum: count }) } : {}) };
    });
    references[role] = rules.length === 1 ? (rules[0] as JsonObject) : rules;
    sayOrder(draft, role, fields);
  }
  for (const field of [...byRole.values()].flat())
    if (isStyle(field)) draft.guess(`The pictures of ${field.name} are style references, by its words.`);
  if (references.reference_image !== undefined && (references.start_frame ?? references.end_frame) !== undefined)
    draft.guess('Reference pictures and frames are offered together; the vendor may refuse a task with both.');
  if (most > MAX_REFERENCE_UPLOADS) {
    draft.guess(
      `The model takes ${most} pictures; ${MAX_REFERENCE_UPLOADS} are offered, the most that a request may have.`,
    );
    most = MAX_REFERENCE_UPLOADS;
  }
  const isAsked = [...byRole.values()].flat().some(({ types }) => types.has('array'));
  if (draft.subject.options.set['references'] !== undefined && !isAsked)
    draft.guess('--set references has no use here: no field takes a list of pictures.');
  const roles = [...byRole.keys()];
  const mask = maskOf(
    draft,
    files.filter(({ field, kind }) => kind === 'mask' && draft.left().includes(field)).map(({ field }) => field),
    roles,
  );
  const taken = [...byRole.values()].flat();
  const sizes = taken.flatMap(({ maxFileBytes, item }) => maxFileBytes ?? item?.maxFileBytes ?? []);
  const mediaTypes = mediaTypesOf(draft, taken);
  return {
    references,
    ...(mask === undefined ? {} : { mask }),
    roles,
    requiredRoles: requiredRoles(draft, byRole, { counts, mask }),
    most,
    ...(mediaTypes === undefined ? {} : { mediaTypes }),
    ...(sizes.length === 0 ? {} : { maxFileBytes: Math.min(...sizes) }),
  };
}

function sayOrder(draft: Draft, role: ReferenceRole, fields: readonly VendorField[]): void {
  if (fields.length < 2) return;
  const names = fields.map(({ name }) => name).join(', then ');
  draft.guess(`The files of the role ${role} go to ${names}, in the order of the request.`);
}

/** A role for each file that a task needs. A mask that is needed is in a reference image. */
function requiredRoles(
  draft: Draft,
  byRole: ByRole,
  { counts, mask }: { readonly counts: ReadonlyMap<VendorField, number>; readonly mask: JsonObject | undefined },
): readonly ReferenceRole[] {
  const roles = [...byRole].flatMap(([role, fields]) => {
    // A list takes as many files as it can before the next field gets one.
    const last = fields.findLastIndex(({ name }) => isNeeded(draft, byRole, role, name));
    const before = fields.slice(0, Math.max(0, last)).reduce((sum, field) => sum + (counts.get(field) ?? 1), 0);
    const count = last < 0 ? 0 : before + Math.max(1, Math.floor(fields[last]?.minItems ?? 1));
    if (count > MAX_REFERENCE_UPLOADS)
      throw new ImportRefused(
        `${draft.subject.id} needs ${count} pictures, and a request has at most ${MAX_REFERENCE_UPLOADS}.`,
      );
    return Array<ReferenceRole>(count).fill(role);
  });
  const needsMore = mask?.['required'] === true && !roles.includes('reference_image');
  return needsMore ? [...roles, 'reference_image'] : roles;
}

/** Fields that are needed come first, and among them lists last, which would take the files of those after them. */
function inFillingOrder(fields: readonly VendorField[]): readonly VendorField[] {
  const rank = ({ isRequired, types }: VendorField) => (isRequired ? Number(types.has('array')) : 2);
  return fields.toSorted((one, other) => rank(one) - rank(other));
}

const FORMATS: readonly (readonly [mediaType: string, name: string])[] = [
  ['image/png', 'png'],
  ['image/jpeg', 'jpe?g'],
  ['image/webp', 'webp'],
];
const SAYS_FORMATS = /\b(?:must|only|formats?|supports?|supported|accepts?|accepted|allowed)\b/i;
const SAYS_WHICH_NOT = /\b(?:not|except|avoid)\b|n't\b/i;

/** The types of files that the words of a field allow, of those that clients may upload; undefined where they name none. */
export function mediaTypesInWords(text: string): readonly string[] | undefined {
  const sentences = text
    .replaceAll(/\bhttps?:\S+/gi, '')
    .split(/(?<=[.!?;])\s/)
    .filter((sentence) => SAYS_FORMATS.test(sentence) && !SAYS_WHICH_NOT.test(sentence));
  const named = FORMATS.filter(([, name]) =>
    sentences.some((sentence) => new RegExp(`(?<!\\w\\.?)${name}\\b`, 'i').test(sentence)),
  );
  return named.length === 0 ? undefined : named.map(([mediaType]) => mediaType);
}

/** Those of all fields together, since a limit is one of all files. */
function mediaTypesOf(draft: Draft, fields: readonly VendorField[]): readonly string[] | undefined {
  const said = fields.flatMap((field) => {
    const types = mediaTypesInWords(field.text) ?? mediaTypesInWords(field.item?.text ?? '');
    return types === undefined ? [] : [{ field, types }];
  });
  const all = FORMATS.map(([mediaType]) => mediaType);
  const common = all.filter((mediaType) => said.every(({ types }) => types.includes(mediaType)));
  if (common.length === 0 || common.length === all.length) return undefined;
  const names = said.map(({ field }) => field.name).join(' and ');
  draft.guess(`Clients may upload ${common.join(' and ')} only, by the words of ${names}.`);
  return common;
}

/** A model that changes a video, and says so only by what it is filed under, or by taking nothing else. */
function refuseWorkOnVideos(draft: Draft): void {
  const { id, category = '', needsNothing } = draft.subject;
  const kinds = draft.left().map(fileKind);
  const worksOnVideo = category.startsWith('video-to-') || (needsNothing && !kinds.includes('image'));
  if (kinds.includes('video') && worksOnVideo)
    throw new ImportRefused(`${id} needs a video, and clients upload pictures only.`);
}

const NEEDED: Readonly<Record<Exclude<FileKind, 'image'>, string>> = {
  video: 'a video',
  audio: 'a sound file',
  mask: 'a mask',
  other: 'a file',
};

type ByRole = ReadonlyMap<ReferenceRole, readonly VendorField[]>;

function rolesOf(draft: Draft, fields: readonly VendorField[]): ByRole {
  return draft.subject.modality === 'video' ? videoRoles(draft, fields) : imageRoles(draft, fields);
}

/** Start and end frames by their names and words; lists, subjects and references; a picture without such words is the start. */
function videoRoles(draft: Draft, fields: readonly VendorField[]): ByRole {
  const byRole = new Map<ReferenceRole, VendorField[]>();
  for (const field of fields) {
    const role = videoRole(field);
    const [before] = byRole.get(role) ?? [];
    if (before === undefined || role === 'reference_image') byRole.set(role, [...(byRole.get(role) ?? []), field]);
    else if (field.isRequired && !before.isRequired) {
      draft.drop(before, `${field.name} is offered in its place`);
      byRole.set(role, [field]);
    } else draft.drop(field, `${before.name} is offered in its place`);
  }
  const order: readonly ReferenceRole[] = [...REFERENCE_ROLES.filter(isFrame), 'reference_image'];
  return new Map(
    order.flatMap((role) => (byRole.has(role) ? [[role, inFillingOrder(byRole.get(role) ?? [])] as const] : [])),
  );
}

function videoRole({ name, text, types }: VendorField): ReferenceRole {
  if (/(?:^|_)(?:end|last|tail|final)(?:_|$)/i.test(name)) return 'end_frame';
  if (/^(?:start|first|initial|begin)/i.test(name)) return 'start_frame';
  if (types.has('array') || /subject|ref|character|element|style|face/i.test(name)) return 'reference_image';
  return /\b(?:last|end(?:ing)?|final) (?:frame|image)\b/i.test(text) &&
    !/\b(?:first|start\w*|initial) (?:frame|image)/i.test(text)
    ? 'end_frame'
    : 'start_frame';
}

/** All pictures that are needed, and lists of further ones. Of several optional ones, only the most general one is taken. */
function imageRoles(draft: Draft, fields: readonly VendorField[]): ByRole {
  const needed = fields.filter(({ isRequired }) => isRequired);
  const optional = fields.filter(({ isRequired }) => !isRequired);
  const plain = optional.filter((field) => !isStyle(field) && !isControl(field));
  const first = plain.find(({ types }) => types.has('array')) ?? plain[0] ?? optional[0];
  const chosen =
    needed.length > 0
      ? [...needed, ...plain.filter(({ types }) => types.has('array'))]
      : first === undefined
        ? []
        : [first];
  for (const field of fields)
    if (!chosen.includes(field)) draft.drop(field, 'a second kind of picture, for which there is no role');
  return chosen.length === 0 ? new Map() : new Map([['reference_image', inFillingOrder(chosen)]]);
}

function isStyle({ name, text }: VendorField): boolean {
  return /style/i.test(name) || /\bstyle (?:reference|image|guid)/i.test(text);
}

function isControl({ name }: VendorField): boolean {
  return /control|depth|pose|canny|ip_?adapter|face|logo/i.test(name);
}

/** Whether a task without a file in this field would be refused. */
function isNeeded(draft: Draft, byRole: ByRole, role: ReferenceRole, name: string): boolean {
  const field = byRole.get(role)?.find((one) => one.name === name);
  if (field === undefined) return false;
  if (field.isRequired) return true;
  // A model that requires nothing needs at least what it works on: "The image to reframe."
  if (draft.subject.needsNothing && /\b(?:image|photo|picture) to (?:be )?[a-z]+/i.test(field.text)) {
    draft.guess(`The words of ${name} say that it is needed; the schema requires nothing.`);
    return true;
  }
  // "A start or end image is required." where the schema lets both be absent.
  if (
    /\b(?:start|first)\b[^.]{0,60}\b(?:is|are) required\b|\byou must use an? (?:start|first|input)/i.test(field.text)
  ) {
    if (role === 'end_frame') return false;
    draft.guess(`The words of ${name} say that it is needed; the schema does not.`);
    return true;
  }
  return false;
}

/** The number of pictures that a list takes, by the schema, by its description, or by `--set references=N`. */
function picturesOf(draft: Draft, field: VendorField): number {
  const { options } = draft.subject;
  const given = options.set['references'];
  if (field.maxItems !== undefined && field.maxItems >= 1) return Math.floor(field.maxItems);
  if (given !== undefined) {
    if (!/^(?:[1-9][0-9]?|100)$/.test(given))
      throw new ImportRefused('--set references=N needs a whole number from 1 to 100.');
    return Number(given);
  }
  const named = picturesInWords(field.text);
  if (named === undefined)
    throw new ImportRefused(
      `The schema does not say how many pictures ${field.name} takes: give --set references=N, as the vendor's page says it.`,
    );
  draft.guess(`${field.name} takes ${named} picture${named === 1 ? '' : 's'}, by its words.`);
  return named;
}

/** Up to two words, none of which is a unit of something else. */
const PICTURES =
  '(?:(?!(?:mb|kb|px|pixels?|seconds?|videos?|characters?)\\b)[a-z-]+ ){0,2}(?:images?|pictures?|photos?|references?|subjects?|elements?)';
const AT_MOST = '(?:up to|at most|max(?:imum)?(?: of)?:?|supports?)';
const COUNTS: readonly RegExp[] = [
  new RegExp(`\\b${AT_MOST} (\\d{1,3}) ${PICTURES}`, 'gi'),
  new RegExp(`\\b\\d{1,3} ?(?:-|–|to) ?(\\d{1,3}) ${PICTURES}`, 'gi'),
  new RegExp(`\\b(?:images?|pictures?|photos?) \\(${AT_MOST} (\\d{1,3})\\)`, 'gi'),
];

/** The largest number of pictures that the words of a field name. */
export function picturesInWords(text: string): number | undefined {
  const numbers = COUNTS.flatMap((pattern) => [...text.matchAll(pattern)].map(([, count]) => Number(count)));
  const usable = numbers.filter((count) => count >= 1);
  return usable.length === 0 ? undefined : Math.max(...usable);
}

function maskOf(draft: Draft, fields: readonly VendorField[], roles: readonly ReferenceRole[]): JsonObject | undefined {
  const [field, ...others] = fields.toSorted((one, other) => Number(other.isRequired) - Number(one.isRequired));
  for (const other of others) draft.drop(other, 'a second mask');
  if (field === undefined) return undefined;
  if (field.types.has('array') || !roles.includes('reference_image')) {
    draft.drop(field, 'a mask without a picture that it belongs to');
    return undefined;
  }
  draft.take(field);
  const form = maskForm(field.text) ?? KNOWN_MASKS.find(([name]) => name.test(draft.subject.id))?.[1];
  if (form === undefined)
    draft.guess(
      `The areas that are made anew are taken to be white in ${field.name}; try it, and set form: black if the rest changes.`,
    );
  else draft.guess(`The areas that are made anew are ${form} in ${field.name}, by the vendor's words.`);
  return { field: field.name, form: form ?? 'white', ...(field.isRequired ? { required: true } : {}) };
}

/** Vendors that say the form of a mask elsewhere. */
const KNOWN_MASKS: readonly (readonly [RegExp, 'white' | 'black'])[] = [[/ideogram/i, 'black']];

const ANEW = '(?:inpaint|replac|edit|regenerat|generat|chang|fill|modif|made anew)';
const KEPT = '(?:preserv|kept|keep|protect|unchanged)';

/** The colour of what is made anew, by the words of a mask. */
export function maskForm(text: string): 'white' | 'black' | undefined {
  const near = (colour: string, what: string) => new RegExp(`\\b${colour}\\b[^.,;]{0,60}${what}`, 'i').test(text);
  if (near('white', ANEW) || near('black', KEPT)) return 'white';
  if (near('black', ANEW) || near('white', KEPT)) return 'black';
  // Without a colour: what a mask marks is white in it.
  return new RegExp(`\\bmark\\w*\\b[^.,;]{0,40}${KEPT}`, 'i').test(text) ? 'black' : undefined;
}
