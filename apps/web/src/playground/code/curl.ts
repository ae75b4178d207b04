import type { ShownRequest } from './shown-request.js';

const BASE = '/api/v1/developer';
const AUTHORIZATION = '-H "Authorization: Bearer $DARKROOM_API_KEY"';

/** The request for a shell with curl. Where it has reference files, they are uploaded first. */
export function curlText(shown: ShownRequest): string {
  const { baseUrl, request, references } = shown;
  const ids = references.map((_, index) => `$upload${index + 1}`);
  const body = ids.length === 0 ? request : { ...request, reference_upload_ids: ids };
  // The quote is closed around each id, so that the shell puts it in.
  const text = ids.reduce(
    (all, id) => all.replace(`"${id}"`, `"'${id}'"`),
    JSON.stringify(body).replaceAll("'", String.raw`'\''`),
  );
  const create = command([
    `curl ${baseUrl}${BASE}/generations`,
    AUTHORIZATION,
    '-H "Idempotency-Key: $(date +%s)-$$"',
    '-H "Content-Type: application/json"',
    '-H "Prefer: wait=60"',
    `-d '${text}'`,
  ]);
  if (references.length === 0) return create;
  return [
    String.raw`field() { sed -E "s/.*\"$1\":\"([^\"]*)\".*/\1/"; }`,
    ...references.map((reference, index) => uploadText(baseUrl, reference, index + 1)),
    create,
  ].join('\n\n');
}

function uploadText(
  baseUrl: string,
  { filename, mediaType, role }: ShownRequest['references'][number],
  number: number,
): string {
  const about = JSON.stringify({ filename, media_type: mediaType, role });
  const prepare = command([
    `prepared=$(curl -sS ${baseUrl}${BASE}/uploads`,
    AUTHORIZATION,
    `-H "Idempotency-Key: $(date +%s)-$$-${number}"`,
    '-H "Content-Type: application/json"',
    `-d '${about.slice(0, -1)},"byte_size":'$(($(wc -c < ${filename})))'}')`,
  ]);
  return [
    prepare,
    `upload${number}=$(echo "$prepared" | field upload_id)`,
    `curl -sS -T ${filename} -H "Content-Type: ${mediaType}" "$(echo "$prepared" | field upload_url)"`,
    command([
      `curl -sS -X POST ${baseUrl}${BASE}/uploads/$upload${number}/complete`,
      AUTHORIZATION,
      `-H "Idempotency-Key: $upload${number}"`,
    ]),
  ].join('\n');
}

function command(lines: readonly string[]): string {
  return lines.join(' \\\n  ');
}
