/** How a database in the data folder is copied while it is in use. */
export interface DatabaseBackup {
  /** The name of its file in the data folder, and in a backup. */
  readonly file: string;
  /** Copies the database as of one moment into the new file `target`, and puts it on the disk. */
  snapshot(dataFolder: string, target: string): Promise<void>;
}

/** The contents of an object folder, except incomplete writes. */
export interface ObjectCount {
  readonly files: number;
  readonly bytes: number;
}

/** How objects in the data folder are copied while they are in use. */
export interface ObjectsBackup {
  /** The name of their folder in the data folder, and in a backup. */
  readonly folder: string;
  /** Links or copies every object that `to` does not have yet. */
  link(from: string, to: string): Promise<void>;
  /** Copies every object and compares it with its digest; `damaged` names one that is another. */
  copy(from: string, to: string): Promise<{ readonly damaged?: string | undefined }>;
  count(folder: string): Promise<ObjectCount>;
}
