/** How a file of a provider's users becomes models: `darkroom <name> import <file>`. */
export interface CatalogImport {
  /** The file, as help names it: "a workflow". */
  readonly what: string;
  /** The name of such a file, for an example. */
  readonly example: string;
  /** What its users should know, in sentences. */
  readonly about: string;
  /**
   * A catalog as YAML that a person reads before it is used, for a file with this text. `path` is that of the file from the
   * folder of the catalog. Throws one sentence.
   */
  propose(text: string, path: string): Promise<string>;
}
