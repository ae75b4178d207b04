/** A task on one server: `<token>@<address of the server>`. */
export interface TaskReference {
  readonly token: string;
  /** Its base address, as configured. */
  readonly server: string;
}

const TOKEN = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const TOKEN_LENGTH = 36;

/** ComfyUI takes a UUID in lower case and compares it letter by letter. Throws a `RangeError` for anything else. */
export function referenceOf({ token, server }: TaskReference): string {
  if (!TOKEN.test(token)) throw new RangeError('The token is no UUID in lower case.');
  return `${token}@${server}`;
}

/** Undefined for a text that is not a reference of this provider. */
export function readReference(reference: string): TaskReference | undefined {
  const [token, at, server] = [
    reference.slice(0, TOKEN_LENGTH),
    reference.charAt(TOKEN_LENGTH),
    reference.slice(TOKEN_LENGTH + 1),
  ];
  return TOKEN.test(token) && at === '@' && server !== '' ? { token, server } : undefined;
}
