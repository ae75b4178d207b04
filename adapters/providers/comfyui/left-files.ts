import type { ProviderCall } from '../../../core/ports/provider.js';
import type { ComfyUiServer } from './comfyui-server.js';
import { folderOf } from './fill-workflow.js';
import type { SavedFile } from './job.js';
import type { Plan } from './plan.js';

/** No task has more outputs. */
const MOST_FILES = 100;

/**
 * The files of a finished task that its server has forgotten, as after a restart: they are where the task's prefix says.
 * Undefined unless each output node has one; where a node names its files in another way, they cannot be found.
 */
export async function leftFiles(
  server: ComfyUiServer,
  { outputs }: Pick<Plan, 'outputs'>,
  token: string,
  call: ProviderCall,
): Promise<readonly SavedFile[] | undefined> {
  const files: SavedFile[] = [];
  for (const [index, { suffix }] of outputs.entries()) {
    if (suffix === undefined) return undefined;
    const found = await filesAt(server, { token, nameOf: (count) => `${index + 1}${suffix(count)}` }, call);
    if (found.length === 0) return undefined;
    files.push(...found);
  }
  return files;
}

async function filesAt(
  server: ComfyUiServer,
  { token, nameOf }: { readonly token: string; readonly nameOf: (count: number) => string },
  call: ProviderCall,
): Promise<readonly SavedFile[]> {
  const files: SavedFile[] = [];
  for (let count = 1; count <= MOST_FILES; count += 1) {
    const file = { filename: nameOf(count), subfolder: folderOf(token) };
    if (!(await server.hasFile(file, call))) break;
    files.push(file);
  }
  return files;
}
