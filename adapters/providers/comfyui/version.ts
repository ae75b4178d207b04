/** Since this version a server takes an id with a task, and can stop the one that runs by its id. */
export const LEAST_VERSION = '0.3.57';

/** The version in the answer of `GET /system_stats`, such as 0.3.64; undefined where there is none. */
export function versionIn(stats: unknown): string | undefined {
  const { system } = (stats ?? {}) as { readonly system?: { readonly comfyui_version?: unknown } };
  const version = system?.comfyui_version;
  return typeof version === 'string' && /^v?\d{1,6}(?:\.\d{1,6}){1,3}(?:[-+.\w]{0,40})?$/.test(version)
    ? version.replace(/^v/, '')
    : undefined;
}

export function isAtLeast(version: string, least: string): boolean {
  const [given, wanted] = [partsOf(version), partsOf(least)];
  for (const [index, part] of wanted.entries()) {
    const own = given[index] ?? 0;
    if (own !== part) return own > part;
  }
  return true;
}

function partsOf(version: string): readonly number[] {
  return (/^\d+(?:\.\d+)*/.exec(version)?.[0] ?? '').split('.').map(Number);
}
