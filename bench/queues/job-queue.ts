/** A queue of jobs that do nothing. */
export interface JobQueue {
  /** Resolves when the job is in the store, as durable as that is set to be. */
  add(id: string): Promise<void>;
  /**
   * From now on this process runs jobs: it says when the worker function was called, and when the job's end was stored, or
   * is about to be where there is `stored`.
   */
  work(on: { readonly started: (id: string) => void; readonly ended: () => void }): Promise<void>;
  /** Resolves once the end of every job that was added is stored. */
  stored?(): Promise<void>;
  close(): Promise<void>;
}
