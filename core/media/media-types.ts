/** The types of pictures that the service takes and delivers. */
export const IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/webp'] as const;
export type ImageType = (typeof IMAGE_TYPES)[number];

const EXTENSIONS: ReadonlyMap<string, string> = new Map<ImageType | 'video/mp4', string>([
  ['image/png', 'png'],
  ['image/jpeg', 'jpg'],
  ['image/webp', 'webp'],
  ['video/mp4', 'mp4'],
]);

/** The extension of a file's name; `bin` for a type that the service does not deliver. */
export function extensionOf(mediaType: string): string {
  return EXTENSIONS.get(mediaType) ?? 'bin';
}
