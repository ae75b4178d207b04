import type { ProviderReference } from '../../../core/ports/provider.js';

/** A reference file as a data URL, whole in memory. Throws if it has more bytes than it says. */
export async function dataUrlOf(reference: ProviderReference): Promise<string> {
  const bytes = Buffer.alloc(reference.byteSize);
  let filled = 0;
  for await (const piece of await reference.open()) {
    if (filled + piece.byteLength > bytes.byteLength) throw new Error('A reference file is longer than it was.');
    bytes.set(piece, filled);
    filled += piece.byteLength;
  }
  if (filled < bytes.byteLength) throw new Error('A reference file is shorter than it was.');
  return `data:${reference.mediaType};base64,${bytes.toString('base64')}`;
}
