import type { Json } from '../../api-types.js';
import type { ShownRequest } from './shown-request.js';

/** The request as a program with the client library `@darkroom/client`. */
export function typescriptText({ baseUrl, request, references, isVideo }: ShownRequest): string {
  const { operation: _operation, ...input } = request;
  const files = references.map(
    ({ filename, role }) => `    { file: await openAsBlob(${JSON.stringify(filename)}), role: '${role}' },`,
  );
  return [
    ...(files.length === 0 ? [] : ["import { openAsBlob } from 'node:fs';"]),
    "import { writeFile } from 'node:fs/promises';",
    "import { Darkroom } from '@darkroom/client';",
    '',
    `const darkroom = new Darkroom({ baseUrl: ${JSON.stringify(baseUrl)}, apiKey: process.env.DARKROOM_API_KEY ?? '' });`,
    'const { task, files } = await darkroom.generate({',
    ...Object.entries(input).map(([name, value]) => `  ${nameText(name)}: ${literal(value as Json, '  ')},`),
    ...(files.length === 0 ? [] : ['  references: [', ...files, '  ],']),
    '});',
    `for (const [index, file] of files.entries()) await writeFile(\`output-\${index + 1}.${isVideo ? 'mp4' : 'png'}\`, file.bytes);`,
    'console.log(`${task.charged_credits} credits`);',
  ].join('\n');
}

function literal(value: Json, indent: string): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((item) => literal(item as Json, indent)).join(', ')}]`;
  const inner = `${indent}  `;
  const lines = Object.entries(value).map(([name, item]) => `${inner}${nameText(name)}: ${literal(item, inner)},`);
  return lines.length === 0 ? '{}' : ['{', ...lines, `${indent}}`].join('\n');
}

function nameText(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name);
}
