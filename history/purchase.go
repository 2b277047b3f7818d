package history

import (
	"fmt"
	"strconv"
	"strings"
)

// PurchaseID is the id of a buyer's n-th attempt to buy, unique within a run.
func PurchaseID(instance, buyer, n int) string {
	return fmt.Sprintf("%d.%d.%d", instance, buyer, n)
}

// ParsePurchase reads an id made by PurchaseID; ok is false for any other.
func ParsePurchase(id string) (instance, buyer, n int, ok bool) {
	parts := strings.Split(id, ".")
	if len(parts) != 3 {
		return 0, 0, 0, false
	}
	var numbers [3]int
	for i, p := range parts {
		v, err := strconv.Atoi(p)
		if err != nil || v < 0 {
			return 0, 0, 0, false
		}
		numbers[i] = v
	}
	return numbers[0], numbers[1], numbers[2], true
}

// Who says whose purchase it is: "instance 2, buyer 17".
func Who(purchase string) string {
	i, b, _, ok := ParsePurchase(purchase)
	if !ok {
		return fmt.Sprintf("purchase %q", purchase)
	}
	return fmt.Sprintf("instance %d, buyer %d", i, b)
}
