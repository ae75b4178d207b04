import type { Json } from '../../api-types.js';
import type { ShownRequest } from './shown-request.js';

/** The request as a program with the client library `darkroom-client`. */
export function pythonText({ baseUrl, request, references, isVideo }: ShownRequest): string {
  const { operation: _operation, ...input } = request;
  const files = references.map(
    ({ filename, role }) => `            Reference(${JSON.stringify(filename)}, role=${JSON.stringify(role)}),`,
  );
  return [
    'import os',
    `from darkroom_client import Darkroom${files.length === 0 ? '' : ', Reference'}`,
    '',
    `with Darkroom(${JSON.stringify(baseUrl)}, os.environ["DARKROOM_API_KEY"]) as darkroom:`,
    '    made = darkroom.generate(',
    `        ${literal(input, '        ')},`,
    ...(files.length === 0 ? [] : ['        references=[', ...files, '        ],']),
    '    )',
    '    for index, file in enumerate(made.files):',
    `        file.save(f"output-{index + 1}.${isVideo ? 'mp4' : 'png'}")`,
    '    print(made.task["charged_credits"], "credits")',
  ].join('\n');
}

function literal(value: Json, indent: string): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((item) => literal(item as Json, indent)).join(', ')}]`;
  const inner = `${indent}    `;
  const lines = Object.entries(value).map(
    ([name, item]) => `${inner}${JSON.stringify(name)}: ${literal(item, inner)},`,
  );
  return lines.length === 0 ? '{}' : ['{', ...lines, `${indent}}`].join('\n');
}
