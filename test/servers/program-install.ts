/** A program that a package registry provides, installed by the registry's ordinary client. */
export interface Install {
  /** The command that installs, looked up on the PATH. */
  readonly tool: string;
  /** The hint for a user who lacks the tool. */
  readonly needs: string;
  /** The pin: part of the name of its folder in the cache, so another pin is another folder. */
  readonly version: string;
  /** The commands in order, given the folder to install into. */
  readonly commands: (folder: string) => readonly Command[];
  /** Possible paths of the program below that folder; a star stands for one name. */
  readonly places: readonly string[];
  /** Have the program print its version; `--version` when absent. */
  readonly versionArgs?: readonly string[];
}

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}
