/** A list of numbers that grows. */
export class Numbers {
  #numbers = new Uint32Array(1 << 10)
  length = 0

  push(number: number): void {
    if (this.length === this.#numbers.length) {
      const larger = new Uint32Array(2 * this.#numbers.length)
      larger.set(this.#numbers)
      this.#numbers = larger
    }
    this.#numbers[this.length++] = number
  }

  at(place: number): number | undefined {
    return this.#numbers[place]
  }

  /** @param place of a number that is there */
  set(place: number, number: number): void {
    this.#numbers[place] = number
  }

  get all(): Uint32Array {
    return this.#numbers.subarray(0, this.length)
  }
}
