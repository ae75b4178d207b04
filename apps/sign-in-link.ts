/** The path of a link that signs a person in once, below the public address. `apps/http/sign-in` serves it. */
export function signInPath(secret: string): string {
  return `/sign-in/link/${secret}`;
}
