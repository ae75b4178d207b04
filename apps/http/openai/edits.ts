import { requireScope } from '../../../core/access/authenticate.js';
import { estimateGeneration } from '../../../core/generation/create-generation.js';
import type { ReferenceRole } from '../../../core/generation/generation.js';
import { maxMaskedReferences, MAX_REFERENCE_UPLOADS } from '../../../core/generation/quote.js';
import type { JsonObject } from '../../../core/json.js';
import { MAX_HEADER_BYTES, readImageHeader } from '../../../core/media/image-header.js';
import type { SentFile } from '../../../core/uploads/take-file.js';
import { ApiRefusal } from './errors.js';
import type { MappedRequest } from './fields.js';
import { type FileRules, type Form, type FormFile, readForm } from './form.js';
import { createImages } from './images.js';
import type { ApiRequest, Endpoint } from './operation.js';
import { orRemoveUploads, pictureIn, takePicture } from './references.js';
import { refuseFullDisk } from './spool.js';

export const EDIT_ENDPOINTS: readonly Endpoint[] = [
  { method: 'POST', path: '/images/edits', scope: 'generations:write', rate: 'writes', serve: edit },
];

const IMAGE = 'image';
const MASK = 'mask';

/** Pictures made from others: those are sent as files, and become uploads of the App. */
async function edit(ctx: ApiRequest): Promise<void> {
  const { context } = ctx.state.parts;
  const { caller } = ctx.state.admission;
  requireScope(caller, 'uploads:write');
  const form = await readForm(ctx, rulesOf(context.settings.maxUploadBytes));
  try {
    await orRemoveUploads(context, caller, (uploadIds) =>
      createImages(ctx, {
        path: '/images/edits',
        event: 'image_edit.completed',
        fields: form.fields,
        files: form.files.map(({ param, sha256 }) => [param, sha256]),
        prepare: (mapped) => withReferences(ctx, form, mapped, uploadIds),
      }),
    );
  } finally {
    await form.close();
  }
}

/** The most of any model: which one is requested is known when its field has arrived, and that may be the last one. */
function rulesOf(maxBytes: number): FileRules {
  return {
    [IMAGE]: { names: ['image', 'image[]'], most: MAX_REFERENCE_UPLOADS, maxBytes },
    [MASK]: { names: ['mask'], most: 1, maxBytes },
  };
}

/**
 * The body of the create, with uploads made of the files. What the catalog and the account refuse anyway stores no file.
 * `uploadIds` receives those that were made, also where a later one is refused.
 */
async function withReferences(
  ctx: ApiRequest,
  form: Form,
  { model, body }: MappedRequest,
  uploadIds: string[],
): Promise<JsonObject> {
  const { context } = ctx.state.parts;
  const { caller } = ctx.state.admission;
  const images = form.files.filter(({ param }) => param === IMAGE);
  const mask = form.files.find(({ param }) => param === MASK);
  const { maxReferenceUploads, referenceRoles } = model.limits;
  if (maxReferenceUploads === 0 || !referenceRoles.includes('reference_image'))
    throw new ApiRefusal(
      'FIELD_INVALID',
      `${model.modelKey} takes no pictures; send it to /images/generations.`,
      IMAGE,
    );
  if (images.length === 0) throw new ApiRefusal('FIELD_REQUIRED', 'image is required: a file.', IMAGE);
  if (images.length > maxReferenceUploads) {
    const message = `image must be at most ${maxReferenceUploads} files for ${model.modelKey}.`;
    throw new ApiRefusal('FIELD_INVALID', message, IMAGE);
  }
  if (mask !== undefined && maxMaskedReferences(context, model) === 0)
    throw new ApiRefusal('FIELD_INVALID', `${model.modelKey} takes no mask.`, MASK);
  const pictures: SentFile[] = [];
  for (const image of images) pictures.push(await pictureIn(image, IMAGE));
  await estimateGeneration(context, caller, body, Array<ReferenceRole>(images.length).fill('reference_image'));
  const take = async (picture: SentFile): Promise<void> => {
    uploadIds.push(await takePicture(context, caller, model, picture, { role: 'reference_image', param: IMAGE }));
  };
  const [first, ...others] = pictures as [SentFile, ...SentFile[]];
  await (mask === undefined ? take(first) : takeMasked(ctx, form, { first, mask, take }));
  for (const other of others) await take(other);
  return { ...body, reference_upload_ids: uploadIds };
}

interface Masked {
  readonly first: SentFile;
  readonly mask: FormFile;
  readonly take: (picture: SentFile) => Promise<void>;
}

/** Takes the first picture with the transparent areas of the mask. */
async function takeMasked(ctx: ApiRequest, form: Form, { first, mask, take }: Masked): Promise<void> {
  const { masks, settings, digests } = ctx.state.parts.context;
  const { maxUploadBytes, maxUploadPixels: maxPixels, maxUploadDecodeBytes: maxDecodeBytes } = settings;
  form.reserve(await pixelBytesOf(first, maxPixels));
  const sent = await pictureIn(mask, MASK, 'PNG');
  const made = await masks.apply(first, sent, { maxPixels, maxDecodeBytes }).catch(refuseFullDisk);
  if ('of' in made) {
    const param = made.of === 'mask' ? MASK : IMAGE;
    throw new ApiRefusal('FIELD_INVALID', `${param} ${made.message}`, param);
  }
  try {
    const { byteSize } = made;
    if (byteSize > maxUploadBytes) {
      const message = `image and mask are a PNG of ${byteSize} bytes together, and may have ${maxUploadBytes}; send fewer pixels.`;
      throw new ApiRefusal('UPLOAD_FILE_TOO_LARGE', message, IMAGE);
    }
    const { sha256 } = await digests.ofBytes(made.bytes());
    await take({ filename: 'image.png', mediaType: 'image/png', byteSize, sha256, bytes: () => made.bytes() });
  } finally {
    await made.close();
  }
}

/** About the most bytes that the picture has as a PNG with four bytes per pixel. */
async function pixelBytesOf({ bytes }: SentFile, maxPixels: number): Promise<number> {
  let head: Uint8Array = new Uint8Array();
  for await (const piece of bytes()) {
    head = Buffer.concat([head, piece]);
    const header = readImageHeader(head);
    if (typeof header === 'object') return PIXEL_BYTES * Math.min(header.widthPx * header.heightPx, maxPixels);
    if (head.byteLength > MAX_HEADER_BYTES) break;
  }
  return PIXEL_BYTES * maxPixels;
}

const PIXEL_BYTES = 4;
