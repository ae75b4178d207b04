import { dirname, join } from 'node:path';
import type { FoundProgram } from './find-program.js';
import type { Program } from './programs.js';
import { INTERPRETER, pythonInstall } from './python-install.js';

/**
 * A virtual environment with the packages of a file of requirements, kept where the tests' servers are. Other packages
 * are another environment.
 */
export function pythonEnvironment({ name, title }: Pick<Program, 'name' | 'title'>, requirements: string): Program {
  return { name, title, variables: [], commands: [], installs: [pythonInstall(requirements)] };
}

/** Asked by its own path, an interpreter finds the packages beside it. */
export function interpreterOf({ path }: FoundProgram): string {
  return join(dirname(path), INTERPRETER);
}
