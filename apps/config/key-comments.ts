/**
 * The comments of a YAML file right above its keys, by the path of the key. A comment with an empty line below it
 * belongs to none.
 */
export function keyComments(text: string): ReadonlyMap<string, string> {
  const comments = new Map<string, string>();
  const sections: { readonly indent: number; readonly name: string }[] = [];
  let lines: string[] = [];
  for (const line of text.split('\n')) {
    const comment = /^ *# ?(.*)$/.exec(line)?.[1];
    if (comment !== undefined) {
      lines.push(comment);
      continue;
    }
    const [, indent, name] = /^( *)([a-z][a-z0-9_-]*):/.exec(line) ?? [];
    if (indent !== undefined && name !== undefined) {
      while ((sections.at(-1)?.indent ?? -1) >= indent.length) sections.pop();
      sections.push({ indent: indent.length, name });
      if (lines.length > 0) comments.set(sections.map((section) => section.name).join('.'), lines.join(' '));
    }
    lines = [];
  }
  return comments;
}
