/** What can be had of a program from a package registry, by that registry's ordinary client. */
export interface Install {
  /** The command that installs, looked up on the PATH. */
  readonly tool: string;
  /** What to tell somebody who lacks the tool. */
  readonly needs: string;
  /** The pin: part of the name of its folder in the cache, so another pin is another folder. */
  readonly version: string;
  /** The commands in order, given the folder to install into. */
  readonly commands: (folder: string) => readonly Command[];
  /** Where the program may then be, below that folder; a star stands for one name. */
  readonly places: readonly string[];
}

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}
