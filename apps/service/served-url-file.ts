import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.js';
import { isDataFolderLocked } from '../wiring/built-in-drivers.js';

/**
 * The file in which a server writes its public URL, for commands that run beside it and may have other variables or
 * another configuration. It is in the data folder, while a server with its database there serves. A file that cannot be
 * written is left out: commands then use the configured URL.
 */
export class ServedUrlFile {
  private readonly path: string | undefined;

  /** Removes the file of a server that was killed. */
  constructor(config: Config) {
    this.path = pathOf(config);
    this.remove();
  }

  write(url: string): void {
    try {
      if (this.path !== undefined) writeFileSync(this.path, `${url}\n`, { mode: 0o600 });
    } catch {
      this.remove();
    }
  }

  async close(): Promise<void> {
    this.remove();
  }

  private remove(): void {
    try {
      if (this.path !== undefined) rmSync(this.path, { force: true });
    } catch {
      // A folder that cannot be written may be full or read-only, which the stores report.
    }
  }
}

/** The public URL of the server that uses the data folder now. Undefined if there is none, or the database is elsewhere. */
export async function servedUrl(config: Config): Promise<string | undefined> {
  const path = pathOf(config);
  if (path === undefined) return undefined;
  let url: string;
  try {
    url = readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
  return URL.canParse(url) && (await isDataFolderLocked(config.dataFolder)) ? url : undefined;
}

function pathOf({ stores, dataFolder }: Config): string | undefined {
  return stores.database.driver.isInDataFolder === true ? join(dataFolder, 'server.url') : undefined;
}
