import type { GenerationRequest, Role } from '../../api-types.js';

/** A request as programs would send it: with files of their own, since an upload belongs to the App that made it. */
export interface ShownRequest {
  readonly baseUrl: string;
  readonly request: Omit<GenerationRequest, 'reference_upload_ids'>;
  readonly references: readonly { readonly filename: string; readonly mediaType: string; readonly role: Role }[];
  readonly isVideo: boolean;
}

/** A name for a file as it can be typed: nothing that a shell or a program takes for more than a name. */
export function plainName(name: string, index: number): string {
  const clean = name.replaceAll(/[^A-Za-z0-9._-]+/g, '-').replace(/^[-.]+/, '');
  return clean === '' ? `reference-${index + 1}` : clean;
}
