const KEY = /^[a-z0-9/._-]{1,512}$/;

/** Whether a key is 1 to 512 characters of [a-z0-9/._-], without empty, `.` or `..` segments. */
export function isObjectKey(key: string): boolean {
  return KEY.test(key) && key.split('/').every((segment) => segment !== '' && segment !== '.' && segment !== '..');
}

/** Throws for a key of another form: we create all keys, so a bad one is a programming error. */
export function assertObjectKey(key: string): void {
  if (!isObjectKey(key)) {
    const shown = JSON.stringify(key.slice(0, 80));
    throw new RangeError(
      `An object key is 1 to 512 characters of [a-z0-9/._-] without empty, "." or ".." segments, not ${shown}.`,
    );
  }
}
