import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pythonEnvironment } from '../servers/python-environment.js';

const FOLDER = fileURLToPath(new URL('../../../test/openapi/', import.meta.url));

/** The tool's settings beyond the document, with the reasons for them. */
export const SCHEMATHESIS_CONFIG = join(FOLDER, 'schemathesis.toml');

export const SCHEMATHESIS = pythonEnvironment(
  { name: 'schemathesis', title: 'schemathesis' },
  join(FOLDER, 'requirements.txt'),
);
