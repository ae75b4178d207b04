import { fdatasync, openSync, write, closeSync } from 'node:fs';

interface Waiting {
  readonly line: string;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** The least a durable append can be: what arrives while one batch is synced is written and synced as the next one. */
export class GroupLog {
  private readonly file: number;
  private waiting: Waiting[] = [];
  private isBusy = false;

  constructor(path: string) {
    this.file = openSync(path, 'a');
  }

  /** Resolves once the line is on the disk. */
  append(line: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ line, resolve, reject });
      if (!this.isBusy) this.flush();
    });
  }

  close(): void {
    closeSync(this.file);
  }

  private flush(): void {
    const batch = this.waiting;
    this.waiting = [];
    this.isBusy = batch.length > 0;
    if (!this.isBusy) return;
    write(this.file, `${batch.map(({ line }) => line).join('\n')}\n`, (writing) => {
      fdatasync(this.file, (syncing) => {
        const error = writing ?? syncing;
        for (const { resolve, reject } of batch) {
          if (error) reject(error);
          else resolve();
        }
        this.flush();
      });
    });
  }
}
