import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { basename, extname, resolve } from 'node:path';
import { usageFailure } from '../exit.js';
import { pictureType, type Model, type ReferenceMediaType } from '../../../clients/typescript/src/index.js';

export interface ReferenceFile {
  readonly path: string;
  readonly role: 'reference_image' | 'start_frame' | 'end_frame';
  readonly filename: string;
  readonly mediaType: ReferenceMediaType;
  readonly sha256: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

const TYPE_BY_EXTENSION: Readonly<Record<string, ReferenceMediaType>> = {
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.webp': 'image/webp',
};

/**
 * Reads a file to be uploaded, and refuses immediately what the model would not accept. A relative path begins at
 * `folder`.
 */
export async function readReferenceFile(
  path: string,
  role: ReferenceFile['role'],
  { model_key, limits }: Model,
  folder: string,
): Promise<ReferenceFile> {
  if (!limits.reference_roles.includes(role)) throw usageFailure(`${model_key} does not take a ${role}.`);
  const size = await sizeOf(path, folder);
  if (size === 0) throw usageFailure(`${path} is empty.`);
  if (size > limits.max_upload_bytes) {
    throw usageFailure(`${path} has ${size} bytes; ${model_key} takes at most ${limits.max_upload_bytes}.`);
  }
  const bytes = new Uint8Array(
    await readFile(resolve(folder, path)).catch(() => {
      throw usageFailure(`${path} cannot be read.`);
    }),
  );
  const mediaType = pictureType(bytes) ?? TYPE_BY_EXTENSION[extname(path).toLowerCase()];
  if (mediaType === undefined || !limits.upload_media_types.includes(mediaType)) {
    throw usageFailure(`${path} must be one of ${limits.upload_media_types.join(', ')}.`);
  }
  const filename = basename(path)
    .replaceAll(/[\p{Cc}\\]/gu, '_')
    .slice(0, 255);
  return { path, role, filename, mediaType, sha256: createHash('sha256').update(bytes).digest('hex'), bytes };
}

async function sizeOf(path: string, folder: string): Promise<number> {
  const about = await stat(resolve(folder, path)).catch(() => {
    throw usageFailure(`There is no file ${path}.`);
  });
  if (!about.isFile()) throw usageFailure(`${path} is not a file.`);
  return about.size;
}
