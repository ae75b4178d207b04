import type { Model } from '../catalog/model.js';
import { ServiceError } from '../errors.js';
import { fieldInvalid } from '../fields.js';
import type { PrepareRequest } from './request.js';

/**
 * Refuses a file that no model of the catalog could take. Role, type and size are checked in this order, each among the
 * models that passed the previous check, so that a remaining model takes all three. Throws FIELD_INVALID (of the role),
 * UPLOAD_TYPE_NOT_ALLOWED and UPLOAD_FILE_TOO_LARGE.
 */
export function requireUsable(models: readonly Model[], { role, mediaType, byteSize }: PrepareRequest): void {
  const limits = models.map((model) => model.limits).filter(({ maxReferenceUploads }) => maxReferenceUploads > 0);
  const ofRole = limits.filter(({ referenceRoles }) => referenceRoles.includes(role));
  if (ofRole.length === 0) {
    const roles = distinct(limits.flatMap(({ referenceRoles }) => referenceRoles));
    const message =
      roles.length === 0
        ? 'No model of the catalog takes reference files.'
        : `role must be one that a model of the catalog takes: ${roles.join(', ')}.`;
    throw fieldInvalid('/role', message);
  }
  const ofType = ofRole.filter(({ uploadMediaTypes }) => uploadMediaTypes.includes(mediaType));
  if (ofType.length === 0) {
    const types = distinct(ofRole.flatMap(({ uploadMediaTypes }) => uploadMediaTypes));
    throw new ServiceError(
      'UPLOAD_TYPE_NOT_ALLOWED',
      `media_type must be one that a model of the catalog takes as ${role}: ${types.join(', ')}.`,
      { pointer: '/media_type' },
    );
  }
  const maxBytes = Math.max(...ofType.map(({ maxUploadBytes }) => maxUploadBytes));
  if (byteSize > maxBytes) {
    throw new ServiceError(
      'UPLOAD_FILE_TOO_LARGE',
      `No model of the catalog takes more than ${maxBytes} bytes of ${mediaType} as ${role}.`,
      { pointer: '/byte_size' },
    );
  }
}

function distinct<T>(items: readonly T[]): readonly T[] {
  return [...new Set(items)];
}
