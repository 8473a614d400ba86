/** The difference of two texts, word by word. Pure; its time is bounded. */
export interface DifferencePiece {
  readonly kind: "same" | "removed" | "added";
  readonly text: string;
}

/** The table of words of both texts has at most this many cells; of longer texts only the common start and end are the same. */
const MAX_CELLS = 250_000;

/** Cells that all texts of a page may use: some 40 ms. Servers and owners choose how many texts there are. */
export function differenceBudget(): { cells: number } {
  return { cells: 4 * MAX_CELLS };
}

/** @param budget of all texts of a page; after it only the common start and end are the same */
export function wordDifference(
  before: string,
  after: string,
  budget: { cells: number } = differenceBudget(),
): readonly DifferencePiece[] {
  const [one, other] = [wordsOf(before), wordsOf(after)];
  let start = 0;
  while (start < one.length && start < other.length && one[start] === other[start]) start += 1;
  let end = 0;
  while (
    end < one.length - start &&
    end < other.length - start &&
    one[one.length - 1 - end] === other[other.length - 1 - end]
  )
    end += 1;
  const pieces: DifferencePiece[] = [];
  const add = (kind: DifferencePiece["kind"], text: string): void => {
    const last = pieces.at(-1);
    if (text === "") return;
    if (last?.kind === kind) pieces[pieces.length - 1] = { kind, text: last.text + text };
    else pieces.push({ kind, text });
  };
  add("same", one.slice(0, start).join(""));
  middle(one.slice(start, one.length - end), other.slice(start, other.length - end), budget, add);
  add("same", one.slice(one.length - end).join(""));
  return pieces;
}

/** By the longest common subsequence; removed words first. */
function middle(
  one: readonly string[],
  other: readonly string[],
  budget: { cells: number },
  add: (kind: DifferencePiece["kind"], text: string) => void,
): void {
  const cells = one.length * other.length;
  if (cells > Math.min(MAX_CELLS, budget.cells)) {
    add("removed", one.join(""));
    add("added", other.join(""));
    return;
  }
  budget.cells -= cells;
  const width = other.length + 1;
  /** Length of the common subsequence of what follows both places. */
  const common = new Uint32Array((one.length + 1) * width);
  const at = (row: number, column: number): number => common[row * width + column] ?? 0;
  for (let row = one.length - 1; row >= 0; row -= 1)
    for (let column = other.length - 1; column >= 0; column -= 1)
      common[row * width + column] =
        one[row] === other[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1));
  let row = 0;
  let column = 0;
  while (row < one.length || column < other.length) {
    const [left = "", right = ""] = [one[row], other[column]];
    if (row < one.length && column < other.length && left === right) {
      add("same", left);
      row += 1;
      column += 1;
    } else if (row < one.length && (column === other.length || at(row + 1, column) >= at(row, column + 1))) {
      add("removed", left);
      row += 1;
    } else {
      add("added", right);
      column += 1;
    }
  }
}

function wordsOf(text: string): readonly string[] {
  return text.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? [];
}
