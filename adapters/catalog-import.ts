import type { JsonObject } from '../core/json.js';

/** How a file that users of a provider already have becomes models: `darkroom <name> import <file>`. */
export interface CatalogImport {
  /** The kind of file, as shown in the help: "a workflow". */
  readonly what: string;
  /** The name of such a file, for an example. */
  readonly example: string;
  /** The options of a provider that is configured for such a file before its server is known. */
  readonly newOptions: JsonObject;
  /** Notes for its users, in sentences. */
  readonly about: string;
  /**
   * A catalog as YAML that a person reads before it is used, for a file with this text. `path` is that of the file from the
   * folder of the catalog. Throws one sentence.
   */
  propose(text: string, path: string): Promise<string>;
}
