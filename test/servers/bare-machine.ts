import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cacheFolder, type Environment } from './find-program.js';
import { PROGRAMS } from './programs.js';

/** A machine, as far as its PATH and its cache go, with nothing on it but the commands a test puts there. */
export class BareMachine {
  readonly folder = mkdtempSync(join(tmpdir(), 'darkroom-machine-'));
  readonly environment: Environment;

  constructor() {
    mkdirSync(this.commands);
    this.environment = { PATH: this.commands, XDG_CACHE_HOME: join(this.folder, 'cache'), HOME: this.folder };
  }

  /** Puts a command on the PATH, written for sh; each of its runs is noted. Answers its path. */
  command(name: string, lines: string): string {
    const path = join(this.commands, name);
    writeFileSync(path, `#!/bin/sh\nPATH=/usr/bin:/bin\necho ${name} >> '${this.notes}'\n${lines}\n`);
    chmodSync(path, 0o755);
    return path;
  }

  /** A `go` whose `install` puts a program there that can be run, after the lines given. */
  installingGo(before = ''): void {
    this.command(
      'go',
      `${before}\nmkdir -p "$GOBIN"\nfor name in minio versitygw server; do printf '#!/bin/sh\\nexit 0\\n' > "$GOBIN/$name"; chmod +x "$GOBIN/$name"; done`,
    );
  }

  /** A `python3` whose virtual environment has a `cmake` that installs a server which can be run. */
  buildingPython(): void {
    const server =
      'mkdir -p "$4/bin"; printf "#!/bin/sh\\nexit 0\\n" > "$4/bin/sd-server"; chmod +x "$4/bin/sd-server"';
    const cmake = `#!/bin/sh\nPATH=/usr/bin:/bin\nif [ "$1" = --install ]; then ${server}; fi\n`;
    const file = join(this.folder, 'cmake');
    writeFileSync(file, cmake);
    chmodSync(file, 0o755);
    this.command(
      'python3',
      `if [ "$2" = venv ]; then mkdir -p "$3/bin"; cp '${file}' "$3/bin/cmake"; printf '#!/bin/sh\\nexit 0\\n' > "$3/bin/python3"; chmod +x "$3/bin/python3"; fi`,
    );
  }

  /** How often a command ran. */
  runs(name: string): number {
    try {
      return readFileSync(this.notes, 'utf8')
        .split('\n')
        .filter((line) => line === name).length;
    } catch {
      return 0;
    }
  }

  /** The entries of the cache folder, except locks. */
  get cached(): string[] {
    return readdirSync(cacheFolder(this.environment))
      .filter((name) => !name.includes('.lock'))
      .sort();
  }

  /** Variables that say of every server that it is elsewhere, but for one program. */
  othersElsewhere(except: keyof typeof PROGRAMS): Record<string, string> {
    const others = Object.values(PROGRAMS).filter(({ name }) => name !== except);
    return Object.fromEntries(others.flatMap(({ variables }) => variables.map((variable) => [variable, 'elsewhere'])));
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  private get commands(): string {
    return join(this.folder, 'commands');
  }

  private get notes(): string {
    return join(this.folder, 'notes');
  }
}
