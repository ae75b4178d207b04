const MEDIA_TYPE = /^[a-z0-9!#$&^_.+-]{1,127}\/[a-z0-9!#$&^_.+-]{1,127}$/i;

/** Throws for a media type that is not `type/subtype`: parameters could say more than was checked. */
export function assertMediaType(mediaType: string): void {
  if (!MEDIA_TYPE.test(mediaType)) throw new RangeError('A media type is type/subtype, without parameters.');
}
