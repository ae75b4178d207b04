import type { FieldValue } from './request-fields.js';

/** Sides that servers of diffusion models take, in pixels. */
export const IMAGE_SIDE = { minimum: 64, maximum: 4_096, multipleOf: 8 } as const;

/** Width and height of a text in the form `512x768`; undefined for any other and for sides that cannot be. */
export function sizeOf(text: FieldValue): { readonly width: number; readonly height: number } | undefined {
  const [, width = 0, height = 0] = (/^(\d{2,4})x(\d{2,4})$/.exec(typeof text === 'string' ? text : '') ?? []).map(
    Number,
  );
  const { minimum, maximum, multipleOf } = IMAGE_SIDE;
  const isSide = (px: number) => px >= minimum && px <= maximum && px % multipleOf === 0;
  return isSide(width) && isSide(height) ? { width, height } : undefined;
}
